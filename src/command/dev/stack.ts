import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { SourceMap } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { Transform } from 'node:stream';
import * as v from 'valibot';
import { root } from '../project.ts';

const mapSchema = v.looseObject({
	version: v.number(),
	sources: v.array(v.string()),
	names: v.array(v.string()),
	mappings: v.string(),
});

/** A position in the built Worker, as in a stack trace. */
const place = /(?:[^\s()]*[/\\])?[\w-]+\.js:(\d+):(\d+)/g;

/** Maps positions in the built Worker to the sources. */
export class SourceLines {
	#folder: string | undefined;
	#text: string | undefined;
	#map: SourceMap | undefined;

	/** The folder in which Wrangler builds the Worker. */
	set folder(folder: string) {
		this.#folder = folder;
	}

	/** Reads the source map of the newest build now, because Wrangler removes it at its end. */
	refresh(): void {
		const name = this.#folder === undefined ? undefined : findMap(this.#folder);
		if (this.#folder === undefined || name === undefined) return;
		this.#text = readFileSync(join(this.#folder, name), 'utf8');
		this.#map = undefined;
	}

	/** Replaces positions of the built Worker in a text by lines of the sources. Unknown positions stay. */
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
		const path = resolve(this.#folder ?? root, entry.originalSource);
		return `${relative(root, path)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
	}
}

/** Finds the source map of the Worker, which has the name of its main file. */
function findMap(folder: string): string | undefined {
	try {
		return readdirSync(folder).find((name) => name.endsWith('.js.map') && !name.startsWith('middleware'));
	} catch {
		return undefined;
	}
}

/** How an event of an error of a tool is written in a stream, also within the event of a child. */
const stackEvent = '"type":"tool_stack"';

/** Whether an answer is a stream of events. */
export function isEventStream({ headers }: IncomingMessage): boolean {
	return headers['content-type']?.startsWith('text/event-stream') === true && headers['content-encoding'] === undefined;
}

/** Makes a stream that passes lines as they come, and translates those that hold a stack. */
export function createStackTranslator(translate: (text: string) => string): Transform {
	const decoder = new TextDecoder();
	let rest = '';
	return new Transform({
		transform(chunk: Buffer, _, done) {
			const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
			rest = lines.pop() ?? '';
			const text = lines.map((line) => `${line.includes(stackEvent) ? translate(line) : line}\n`).join('');
			done(null, text === '' ? undefined : text);
		},
		flush(done) {
			done(null, rest + decoder.decode());
		},
	});
}
