import type { OAuthClientMetadata } from '@modelcontextprotocol/client';
import type { Config } from '../../config/config.ts';

/** The paths below the public address of this Worker. */
const paths = { document: '/v1/mcp/client.json', callback: '/v1/mcp/callback' } as const;

export function toCallbackUrl(config: Config): string {
	return `${config.findPublicUrl()}${paths.callback}`;
}

/** Returns the client id, which is the document's address. Undefined on a laptop, where no provider could read it. */
export function toClientId(config: Config): string | undefined {
	const base = config.findPublicUrl();
	return base.startsWith('https:') ? `${base}${paths.document}` : undefined;
}

/** Public facts about this Worker for login pages. */
export function createClientMetadata(config: Config) {
	return {
		client_name: 'Runlet',
		client_uri: config.findPublicUrl(),
		redirect_uris: [toCallbackUrl(config)],
		grant_types: ['authorization_code', 'refresh_token'],
		response_types: ['code'],
		token_endpoint_auth_method: 'none',
	} satisfies OAuthClientMetadata;
}

/** Describes the client. Undefined on a laptop, and without a public address. */
export function describeClient(config: Config) {
	const id = config.publicUrl === undefined ? undefined : toClientId(config);
	return id === undefined ? undefined : { client_id: id, ...createClientMetadata(config) };
}
