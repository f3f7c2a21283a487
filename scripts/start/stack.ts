import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import * as v from 'valibot';
import { root } from '../wrangler.ts';

const mapSchema = v.looseObject({
	version: v.number(),
	sources: v.array(v.string()),
	names: v.array(v.string()),
	mappings: v.string(),
});

/** A place in the built Worker, as a stack has it. */
const place = /(?:[^\s()]*[/\\])?(?:worker|index)\.js:(\d+):(\d+)/g;

/** Says where in the sources a place in the built Worker is. */
export class SourceLines {
	#folder: string | undefined;
	#text: string | undefined;
	#map: SourceMap | undefined;

	/** Where Wrangler builds the Worker. */
	set folder(folder: string) {
		this.#folder = folder;
	}

	/** Takes the map of the newest build: Wrangler removes it when it ends. */
	refresh(): void {
		const file = this.#folder === undefined ? '' : this.#fileIn(this.#folder);
		if (file === '' || !existsSync(file)) return;
		this.#text = readFileSync(file, 'utf8');
		this.#map = undefined;
	}

	/** A text with the places of the built Worker as lines of the sources. What cannot be found stays as it is. */
	translate(text: string): string {
		return text.replace(place, (found, line, column) => this.#find(Number(line), Number(column)) ?? found);
	}

	#find(line: number, column: number): string | undefined {
		if (this.#map === undefined && this.#text !== undefined) {
			const parsed = v.safeParse(mapSchema, JSON.parse(this.#text));
			if (parsed.success) {
				const { version, sources, names, mappings } = parsed.output;
				this.#map = new SourceMap({ version, sources, names, mappings, file: '', sourceRoot: '', sourcesContent: [] });
			}
		}
		const entry = this.#map?.findEntry(line - 1, column - 1);
		if (entry === undefined || !('originalSource' in entry) || entry.originalSource === undefined) return undefined;
		const path = resolve(dirname(this.#fileIn(this.#folder ?? root)), entry.originalSource);
		return `${relative(root, path)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
	}

	#fileIn(folder: string): string {
		return join(folder, 'worker.js.map');
	}
}
