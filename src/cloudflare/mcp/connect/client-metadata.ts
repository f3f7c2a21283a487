import type { OAuthClientMetadata } from '@modelcontextprotocol/client';
import type { Config } from '../../config/config.ts';

/** Where the document of this Worker stands, and where logins come back to, below its public address. */
const paths = { document: '/v1/mcp/client.json', callback: '/v1/mcp/callback' } as const;

export function toCallbackUrl(config: Config): string {
	return `${config.findPublicUrl()}${paths.callback}`;
}

/** The address of the document, which is the client's id. None on a laptop: a provider could not read it. */
export function toClientId(config: Config): string | undefined {
	const base = config.findPublicUrl();
	return base.startsWith('https:') ? `${base}${paths.document}` : undefined;
}

/** What a login page is told of this Worker. It has no secret, so everybody may read it. */
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

/** The document at the client's id. None on a laptop, and where nobody says where this Worker is reached. */
export function describeClient(config: Config) {
	const id = config.publicUrl === undefined ? undefined : toClientId(config);
	return id === undefined ? undefined : { client_id: id, ...createClientMetadata(config) };
}
