import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as v from 'valibot';
import { root } from './root.ts';

/** Texts, and the paths of the files that they are made of, from the root. */
export type Made = Pick<v.InferOutput<typeof kept>, 'texts' | 'sources'>;

const kept = v.object({ sources: v.array(v.string()), hash: v.string(), texts: v.record(v.string(), v.string()) });

/** Milliseconds by which the time of a file may be behind the clock. */
const coarseMs = 100;

/**
 * Makes texts, and keeps them in a file until one of their sources changes, because every start asks for them.
 */
export function makeOnce(file: string, make: () => Made): Made['texts'] {
	const known = readKept(file);
	if (known !== undefined && hash(known.sources) === known.hash) return known.texts;
	const begun = Date.now();
	const { texts, sources } = make();
	// The texts may lack what was saved while they were made.
	const isWhole = sources.every((path) => statSync(join(root, path)).mtimeMs < begun - coarseMs);
	if (isWhole) writeChanged(file, Buffer.from(JSON.stringify({ sources, hash: hash(sources), texts })));
	return texts;
}

function readKept(file: string): v.InferOutput<typeof kept> | undefined {
	try {
		return v.parse(kept, JSON.parse(readFileSync(file, 'utf8')));
	} catch {
		// The file is missing, or of another version.
		return undefined;
	}
}

/** Hashes files with their paths. Returns undefined if a file is missing. */
function hash(paths: readonly string[]): string | undefined {
	const sum = createHash('sha256');
	try {
		for (const path of paths)
			sum
				.update(`${path}\0`)
				.update(readFileSync(join(root, path)))
				.update('\0');
	} catch {
		return undefined;
	}
	return sum.digest('hex');
}

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
