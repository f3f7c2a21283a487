import type { McpServer } from './server.ts';

/** Headers whose values nobody may see. */
const secretHeader = /auth|cookie|credential|key|pass|secret|token/i;

/**
 * Lists what no result may show: secrets in headers, those that are named (`secrets`), and the tokens of a login.
 */
export function listSecrets(
	{ headers = {} }: McpServer,
	secrets: readonly string[] = [],
	tokens?: { readonly access_token: string; readonly refresh_token?: string },
): readonly string[] {
	const given = Object.entries(headers).flatMap(([name, value]) =>
		secretHeader.test(name) ? [value, value.replace(/^\w+ /, '')] : [],
	);
	const all = [...given, ...secrets, tokens?.access_token ?? '', tokens?.refresh_token ?? ''];
	return all.filter((secret) => /^[\x20-\x7e]{4,}$/.test(secret));
}
