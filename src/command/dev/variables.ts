/** The variables that `runlet dev` sets for the Worker, unless the project sets them itself. */

import { randomBytes } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DevOptions } from './options.ts';

type Project = Pick<DevOptions, 'rest' | 'config'>;

/**
 * Returns the options that tell the Worker where it is reached, so that logins of MCP servers can come back. There are
 * none for an address to which no login page sends anybody back.
 *
 * @param url where the Worker is reached, with its base path
 */
export function publicUrlOptions(project: Project, url: string): readonly string[] {
	const isUsable = /^(https:|http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/])/.test(`${url}/`);
	return !isUsable || setsVariable(project, 'PUBLIC_URL') ? [] : ['--var', `PUBLIC_URL:${url}`];
}

/**
 * Returns the options that give the Worker a key for the secrets of owners. It is made once and kept beside the sessions,
 * because a new one opens none of the old secrets.
 */
export function secretsKeyOptions(project: Project & Pick<DevOptions, 'stateFolder'>): readonly string[] {
	if (project.rest.includes('--remote') || setsVariable(project, 'SECRETS_KEY')) return [];
	return ['--var', `SECRETS_KEY:${readOrMakeKey(project.stateFolder)}`];
}

function readOrMakeKey(folder: string): string {
	const file = join(folder, 'secrets.key');
	const before = readText(file).trim();
	if (before !== '') return before;
	mkdirSync(folder, { recursive: true });
	const key = randomBytes(32).toString('base64');
	// Only the person who made it can read it.
	writeFileSync(file, `${key}\n`, { mode: 0o600 });
	return key;
}

/** Whether the project itself sets a variable: as an option, in its configuration, or in a file beside that. */
function setsVariable({ rest, config }: Project, name: string): boolean {
	if (rest.some((option) => option.includes(`${name}:`))) return true;
	const folder = dirname(config);
	const files = [config, ...globSync(['.dev.vars*', '.env*'], { cwd: folder }).map((file) => join(folder, file))];
	return files.some((file) => new RegExp(`^\\s*(export\\s+)?"?${name}"?\\s*[=:]`, 'm').test(readText(file)));
}

/** Returns the text of a file. Empty if it cannot be read. */
function readText(file: string): string {
	try {
		return readFileSync(file, 'utf8');
	} catch {
		return '';
	}
}
