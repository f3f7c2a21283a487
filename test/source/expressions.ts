import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'vite';

/** A regular expression that stands in the source. */
export interface Expression {
	readonly file: string;
	readonly source: string;
	readonly flags: string;
}

const source = join(import.meta.dirname, '../../src');

/** What the command reads is of its own machine: what was typed, and what Wrangler and the compiler print. Its server reads requests. */
const isOfOwnMachine = /^command\/(?!dev\/(proxy|upload)\.ts$)/;

/** Every regular expression of `src` that strangers can give a text to, found by the syntax tree of each file, the page's too. */
export function findExpressions(): Expression[] {
	const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => /\.[jt]s$/.test(file));
	const open = files.filter((file) => !isOfOwnMachine.test(file));
	return open.sort().flatMap((file) => {
		const tree = parseAst(readFileSync(join(source, file), 'utf8'), { lang: file.endsWith('ts') ? 'ts' : 'js' });
		return [...expressionsIn(tree)].map(({ pattern, flags }) => ({ file, source: pattern, flags }));
	});
}

function* expressionsIn(node: unknown): Generator<{ readonly pattern: string; readonly flags: string }> {
	if (typeof node !== 'object' || node === null) return;
	if ('regex' in node && isRegex(node.regex)) yield node.regex;
	for (const value of Object.values(node)) yield* expressionsIn(value);
}

function isRegex(value: unknown): value is { pattern: string; flags: string } {
	return typeof value === 'object' && value !== null && 'pattern' in value && 'flags' in value;
}
