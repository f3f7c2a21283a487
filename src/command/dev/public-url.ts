import type { DevOptions } from './options.ts';
import { setsVariable } from './own-variables.ts';

const name = 'PUBLIC_URL';

/**
 * Returns the options that tell the Worker where it is reached, so that logins of MCP servers can come back. There are none
 * if the project itself says it, and for an address to which no login page sends anybody back.
 *
 * @param url where the Worker is reached, with its base path
 */
export function publicUrlOptions(options: Pick<DevOptions, 'rest' | 'config'>, url: string): readonly string[] {
	const isUsable = /^(https:|http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/])/.test(`${url}/`);
	return !isUsable || setsVariable(options, name) ? [] : ['--var', `${name}:${url}`];
}
