import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Writes a file, and the folders that it needs, only if it changed: several commands may build at once, and a server may
 * watch the folder.
 */
export function writeChanged(file: string, content: Uint8Array): void {
	if (isSame(file, content)) return;
	const temporary = `${file}.${process.pid}.new`;
	mkdirSync(dirname(file), { recursive: true });
	writeFileSync(temporary, content);
	renameSync(temporary, file);
}

function isSame(file: string, content: Uint8Array): boolean {
	try {
		return readFileSync(file).equals(content);
	} catch {
		return false;
	}
}
