/** Types of MCP logins. `tsc` fails if an expected error is missing. Nothing runs this file. */

import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import { fromServer, type LoginTokens, type McpLogin } from '../../src/core/mcp/index.ts';

/** An OAuth provider of the MCP SDK is a login. */
export const fromProvider = (auth: OAuthClientProvider) =>
	fromServer({ name: 'tracker', url: 'https://mcp.example.com/mcp', auth });

/** A login needs no import of the MCP SDK. */
export class Login implements McpLogin {
	readonly redirectUrl = 'https://example.com/callback';
	readonly clientMetadata = { client_name: 'Example', redirect_uris: ['https://example.com/callback'] };
	#tokens: LoginTokens | undefined;
	#verifier = '';
	clientInformation = () => ({ client_id: 'example' });
	tokens = () => this.#tokens;
	saveTokens(tokens: LoginTokens): void {
		this.#tokens = tokens;
	}
	redirectToAuthorization(page: URL): void {
		console.log(page.href);
	}
	saveCodeVerifier(verifier: string): void {
		this.#verifier = verifier;
	}
	codeVerifier = () => this.#verifier;
}

// @ts-expect-error a login without tokens
export const incomplete: McpLogin = { redirectUrl: undefined, clientMetadata: { redirect_uris: [] } };
