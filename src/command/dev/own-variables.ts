import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DevOptions } from './options.ts';

/** Whether the project itself sets a variable: as an option, in its configuration, or in a file beside that. */
export function setsVariable({ rest, config }: Pick<DevOptions, 'rest' | 'config'>, name: string): boolean {
	if (rest.some((option) => option.includes(`${name}:`))) return true;
	const folder = dirname(config);
	const files = [config, ...globSync(['.dev.vars*', '.env*'], { cwd: folder }).map((file) => join(folder, file))];
	return files.some((file) => new RegExp(`^\\s*(export\\s+)?"?${name}"?\\s*[=:]`, 'm').test(readText(file)));
}

/** Returns the text of a file. Empty if it cannot be read. */
export function readText(file: string): string {
	try {
		return readFileSync(file, 'utf8');
	} catch {
		return '';
	}
}
