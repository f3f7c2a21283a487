import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, relative, resolve } from 'node:path';
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
	#folder = root;
	#text: string | undefined;
	#map: SourceMap | undefined;

	/** Reads the source map of a build immediately, because Wrangler removes the map when it ends. */
	read(file: string): void {
		this.#folder = dirname(file);
		this.#text = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
		this.#map = undefined;
	}

	/** In a text, replaces positions in the built Worker with source positions. Unknown positions stay. */
	translate(text: string): string {
		return text.replace(place, (found, line, column) => this.#find(Number(line), Number(column)) ?? found);
	}

	/** Finds the exception in the output of a workerd that cannot load the Worker: its line and its message. */
	findUncaught(output: string): string | undefined {
		const [, message, at] = /Uncaught (?:Error: )?([^\n]*)(?:\n\s+at ([^\n]*))?/.exec(output) ?? [];
		if (message === undefined || at === undefined) return message;
		const translated = this.translate(at);
		return `${/[^\s()]+:\d+:\d+/.exec(translated)?.[0] ?? translated}: ${message}`;
	}

	#find(line: number, column: number): string | undefined {
		if (this.#text === undefined) return undefined;
		this.#map ??= parseMap(this.#text);
		const entry = this.#map.findEntry(line - 1, column - 1);
		if (!('originalSource' in entry) || entry.originalSource === undefined) return undefined;
		const path = resolve(this.#folder, entry.originalSource);
		return `${relative(root, path)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
	}
}

function parseMap(text: string): SourceMap {
	const { version, sources, names, mappings } = v.parse(mapSchema, JSON.parse(text));
	return new SourceMap({ version, sources, names, mappings, file: '', sourceRoot: '', sourcesContent: [] });
}

/** Makes a stream that passes lines of events on as they arrive. It translates the lines that hold a stack. */
export function createStackTranslator(translate: (text: string) => string): Transform {
	const decoder = new TextDecoder();
	let rest = '';
	return new Transform({
		transform(chunk: Buffer, _, done) {
			const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
			rest = lines.pop() ?? '';
			// The event of a child contains the event of its tool.
			const translated = lines.map((line) => (line.includes('"type":"tool_stack"') ? translate(line) : line));
			done(null, translated.map((line) => `${line}\n`).join('') || undefined);
		},
		flush(done) {
			done(null, rest + decoder.decode());
		},
	});
}
