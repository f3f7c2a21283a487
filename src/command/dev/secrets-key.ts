import { randomBytes } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DevOptions } from './options.ts';

const name = 'SECRETS_KEY';

/**
 * Returns the options that give the Worker a key for the secrets of owners. It is made once and kept beside the sessions,
 * because a new one opens none of the old secrets. There are none if the project itself sets the variable.
 */
export function secretsKeyOptions({ rest, config, stateFolder }: Pick<DevOptions, 'rest' | 'config' | 'stateFolder'>) {
	if (rest.some((option) => option.includes(`${name}:`)) || rest.includes('--remote')) return [];
	const folder = dirname(config);
	const files = [config, ...globSync(['.dev.vars*', '.env*'], { cwd: folder }).map((file) => join(folder, file))];
	const isSet = files.some((file) => new RegExp(`^\\s*(export\\s+)?"?${name}"?\\s*[=:]`, 'm').test(readText(file)));
	return isSet ? [] : ['--var', `${name}:${readOrMakeKey(stateFolder)}`];
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

/** Returns the text of a file. Empty if it cannot be read. */
function readText(file: string): string {
	try {
		return readFileSync(file, 'utf8');
	} catch {
		return '';
	}
}
