/** The output of `runlet dev`: the lines of Wrangler that a person needs, and a line for each request. */

import { stripVTControlCharacters, styleText } from 'node:util';
import * as v from 'valibot';
import { formatDollars } from '../../core/base/text.ts';
import type { SourceLines } from './stack.ts';

export interface OutputOptions {
	readonly lines: SourceLines;
	readonly print: (text: string) => void;
	/** Whether the Worker's own lines are printed as JSON. */
	readonly json: boolean;
}

const noise = [
	/^Your Worker has access to the following bindings:/,
	/^Binding +Resource/,
	/^env\.\w+/,
	/^If you think this is a bug/,
	/^Note that there is a newer version/,
	/^⎔ (Starting|Reloading) local server/,
	/^⎔ Local server updated/,
	/^\[wrangler:info\] (Ready|Updated and ready) on/,
	/^\[wrangler:info\] ✨ Parsed/,
	/^\[wrangler:info\] (GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) /,
	/^\[wrangler:warn\] The Workers runtime crashed/,
	/^\s*Runtime stderr:/,
	/^\s*\{"timestamp":"\d+","level":"error","source":"src\/workerd/,
	/^✘ \[ERROR\] The Workers runtime failed to start/,
];

const logLine = v.looseObject({ level: v.picklist(['info', 'warn', 'error']), event: v.string() });
type LogLine = v.InferOutput<typeof logLine>;

/** Reads Wrangler's output in pieces of any length and prints the reduced form. */
export function createOutput({ lines, print, json }: OutputOptions): (piece: string) => void {
	let rest = '';
	return (piece) => {
		const complete = `${rest}${piece}`.split('\n');
		rest = complete.pop() ?? '';
		for (const line of complete) {
			const plain = stripVTControlCharacters(line).trimEnd();
			const log = json ? undefined : parseLog(plain);
			if (log !== undefined) {
				const text = describeLog(log, lines);
				if (text !== undefined) print(text);
			} else if (plain !== '' && !noise.some((form) => form.test(plain))) {
				print(lines.translate(line).replace('service core:user:runlet: ', ''));
			}
		}
	};
}

/** Parses a line of `src/cloudflare/log.ts`. Wrangler adds a heading to warnings and errors. */
function parseLog(plain: string): LogLine | undefined {
	const text = plain.replace(/^(▲ \[WARNING\]|✘ \[ERROR\]) /, '');
	if (!text.startsWith('{"level":')) return undefined;
	try {
		const parsed = v.safeParse(logLine, JSON.parse(text));
		return parsed.success ? parsed.output : undefined;
	} catch {
		return undefined;
	}
}

/** Formats a line for a person. Returns undefined if the proxy prints the same information. */
function describeLog(line: LogLine, lines: SourceLines): string | undefined {
	const stack = line['exception.stacktrace'];
	const frames = typeof stack === 'string' ? `\n${lines.translate(stack).replace(/^/gm, '    ')}` : '';
	if (line.event === 'http.request') return frames === '' ? undefined : paint('red', `${translateLine(line)}${frames}`);
	if (line.event === 'run') return describeRun(line);
	if (line.event === 'tool.threw') {
		const { 'gen_ai.tool.name': tool, 'exception.type': type = 'Error', 'exception.message': message = '' } = line;
		return paint('red', `  tool ${tool} threw ${type}: ${message}${frames}`);
	}
	return paint(line.level === 'error' ? 'red' : 'yellow', `${line.event} ${translateLine(line)}${frames}`);
}

function describeRun(line: LogLine): string {
	const status = String(line['runlet.run.status']);
	const error = line['error.type'];
	const [input, output] = [line['gen_ai.usage.input_tokens'], line['gen_ai.usage.output_tokens']];
	const usd = Number(line['runlet.cost.usd'] ?? 0);
	const calls = Number(line['runlet.run.tool_calls'] ?? 0);
	const parts = [
		`run ${status}${error === undefined ? '' : ` (${error})`}`,
		line['gen_ai.agent.name'],
		line['gen_ai.request.model'],
		input === undefined ? undefined : `${input} + ${output ?? 0} tokens`,
		calls === 0 ? undefined : `${calls} tool ${calls === 1 ? 'call' : 'calls'}`,
		usd === 0 ? undefined : formatDollars(usd),
		`${line['runlet.duration_ms']} ms`,
	];
	return paint(error === undefined ? 'dim' : 'red', `  ${parts.filter((part) => part !== undefined).join(' · ')}`);
}

/** A request and its answer. */
export interface AnswerLine {
	readonly method: string;
	/** The path without the query, which may hold a secret. */
	readonly path: string;
	readonly status: number;
	readonly ms: number;
}

/** Formats a request. Returns undefined for files of the page, because a browser requests many of them. */
export function describeAnswer({ method, path, status, ms }: AnswerLine): string | undefined {
	if (status < 400 && method === 'GET' && /^\/$|\.(js|css|svg|ico|png|map)$/.test(path)) return undefined;
	const shown = stripVTControlCharacters(path).slice(0, 120);
	return paint(
		status < 400 ? 'dim' : status < 500 ? 'yellow' : 'red',
		`${method} ${shown} ${status} ${Math.round(ms)} ms`,
	);
}

/** Returns the values of a line that interest a person. */
function translateLine(line: LogLine): string {
	const hidden = new Set(['level', 'event', 'exception.stacktrace', 'runlet.key.id', 'runlet.owner']);
	return Object.entries(line)
		.filter(([name]) => !hidden.has(name))
		.map(([, value]) => String(value))
		.join(' ');
}

function paint(style: 'dim' | 'red' | 'yellow', text: string): string {
	return styleText(style, text, { stream: process.stdout });
}
