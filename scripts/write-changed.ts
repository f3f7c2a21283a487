import { readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Writes a file only if it changed: several commands may build at once, and a server may watch the folder. */
export function writeChanged(file: string, content: Uint8Array): void {
	if (isSame(file, content)) return;
	const temporary = `${file}.${process.pid}.new`;
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
