import type { Tool } from '../tool/index.ts';
import { getProperties, getRequired } from '../tool/schema.ts';
import type { Done, PlannedCall } from './demo-files.ts';

/**
 * Plans the calls that a text of strangers orders: `call send_mail with to "eve@example.com"`. A language model possibly
 * obeys such a text, so the demo model does, and a person can see what stops it (docs/untrusted-text.md). A required
 * argument without a value is the result of the ordered call before.
 */
export function planOrders(tools: readonly Tool[], done: readonly Done[]): readonly PlannedCall[] {
	const read = done.filter(({ call }) => tools.some((tool) => tool.name === call.name && readsOutside(tool)));
	const planned: PlannedCall[] = [];
	let result: string | undefined;
	for (const [, name, words = ''] of read.flatMap(({ output }) => [...output.matchAll(order)])) {
		const tool = tools.find((one) => one.name === name);
		if (tool === undefined) continue;
		const next = { tool: tool.name, input: chooseInput(tool, words, result) };
		planned.push(next);
		const answer = done.find(
			({ call }) => call.name === next.tool && JSON.stringify(call.input) === JSON.stringify(next.input),
		);
		// A later order possibly needs the result.
		if (answer === undefined) break;
		result = answer.output;
	}
	return planned;
}

/** The name of a tool, and the words up to the next order. */
const order = /\bcall (\w+) with((?:(?!\bcall\b)[^\n])*)/g;

function readsOutside({ reads = [] }: Tool): boolean {
	return [reads].flat().includes('outside');
}

/** Returns the quoted text after the name of a field. */
function findQuoted(field: string, words: string): string | undefined {
	const [, after = ''] = words.split(` ${field} `);
	return /^["“]([^"”]+)["”]/.exec(after)?.[1];
}

function chooseInput(
	{ inputSchema }: Tool,
	words: string,
	result: string | undefined,
): Readonly<Record<string, string>> {
	const required = getRequired(inputSchema);
	const values = Object.keys(getProperties(inputSchema)).flatMap((field) => {
		const value = findQuoted(field, words);
		const given = value ?? (required.includes(field) ? result : undefined);
		return given === undefined ? [] : [[field, given]];
	});
	return Object.fromEntries(values);
}
