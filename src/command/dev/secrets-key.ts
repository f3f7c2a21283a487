import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DevOptions } from './options.ts';
import { readText, setsVariable } from './own-variables.ts';

const name = 'SECRETS_KEY';

/**
 * Returns the options that give the Worker a key for the secrets of owners. It is made once and kept beside the sessions,
 * because a new one opens none of the old secrets. There are none if the project itself sets the variable.
 */
export function secretsKeyOptions({ rest, config, stateFolder }: Pick<DevOptions, 'rest' | 'config' | 'stateFolder'>) {
	if (rest.includes('--remote') || setsVariable({ rest, config }, name)) return [];
	return ['--var', `${name}:${readOrMakeKey(stateFolder)}`];
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
