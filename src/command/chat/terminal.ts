/** Prints for `runlet chat`: the answer to standard output, everything else to standard error. */

import { styleText } from 'node:util';
import type { ChildEvent, RunEvent, TaskList } from '../../client/index.ts';
import {
	describeAwaiting,
	describeHalt,
	describeStop,
	describeTasks,
	describeUsage,
	findSkillName,
	parseInput,
	splitDiff,
} from '../../client/words.ts';
import { createMarkdownWriter } from './markdown.ts';

/** Whether standard output shows styles: it is a terminal, or FORCE_COLOR says so, and NO_COLOR does not forbid it. */
const isStyled = styleText('bold', '-', { stream: process.stdout }) !== '-';

/** Prints the events of a run. Where there are styles, the Markdown of its text is shown as what it means. */
export function createWriter() {
	const calls = new Map<string, { name: string; json: string[]; isShown: boolean }>();
	let hasFailed = false;

	function endCall(id: string) {
		const call = calls.get(id);
		if (!call) return;
		const input = parseInput(call.json.join(''));
		const skill = findSkillName(call.name, input);
		call.isShown = skill !== undefined;
		print('dim', skill === undefined ? `→ ${call.name} ${toOneLine(input)}` : `→ skill ${skill}`);
	}

	function endResult(id: string, output: unknown, isError: boolean) {
		const call = calls.get(id);
		calls.delete(id);
		if (call?.isShown && !isError) return;
		const { diff, rest } = splitDiff(output);
		print(isError ? 'red' : 'dim', `← ${calls.size > 0 && call ? `${call.name}: ` : ''}${toOneLine(rest)}`);
		if (diff !== undefined) printDiff(diff);
	}

	const prose = createProse();
	let isThinking = false;
	return {
		hasFailed: () => hasFailed,
		/** Prints what is left of a text. */
		end: prose.end,
		write(event: RunEvent) {
			if (event.type !== 'text') prose.end();
			switch (event.type) {
				case 'text':
					return prose.add(event.text);
				case 'reasoning':
					if (!isThinking) print('dim', '· thinking');
					isThinking = true;
					return;
				case 'tool_use_start':
					calls.set(event.id, { name: event.name, json: [], isShown: false });
					return;
				case 'tool_use_input':
					calls.get(event.id)?.json.push(event.partialInputJson);
					return;
				case 'tool_use_end':
					return endCall(event.id);
				case 'tool_result':
					return endResult(event.id, event.output, event.isError === true);
				case 'note':
					return print('dim', `· ${event.label}${event.detail ? ` ${event.detail}` : ''}`);
				case 'tasks': {
					for (const list of event.lists) printTasks(list);
					// The result would be the same once more.
					const call = calls.get(event.id);
					if (call) call.isShown = true;
					return;
				}
				case 'child':
					return printChild(event);
				case 'warning':
					return print('yellow', event.message);
				case 'turn.restarted':
					calls.clear();
					return print('dim', 'The answer was interrupted and starts again:');
				case 'stop': {
					isThinking = false;
					endLine();
					const words = describeStop(event.reason);
					return words ? print('yellow', words) : undefined;
				}
				case 'done': {
					const words = describeUsage(event.usage);
					return words ? print('dim', words) : undefined;
				}
				case 'awaiting':
					return print('bold', describeAwaiting(event));
				case 'halted':
					hasFailed = true;
					return print('yellow', describeHalt(event.reason));
				case 'cancelled':
					hasFailed = true;
					return print('dim', 'Stopped.');
				case 'error':
					hasFailed = true;
					return print('red', `${event.message} (${event.code})`);
			}
		},
	};
}

/** Prints a text that comes in pieces. */
function createProse() {
	let markdown: ReturnType<typeof createMarkdownWriter> | undefined;
	return {
		add(text: string) {
			if (!isStyled) return printText(text);
			markdown ??= createMarkdownWriter(writeText);
			markdown.write(toPrintable(text));
		},
		end() {
			markdown?.end();
			markdown = undefined;
		},
	};
}

/** Prints what a child does: the calls of each turn. Its answer comes as the result of the call that it works for. */
function printChild({ agent, event }: ChildEvent) {
	if (event.type === 'child') printChild({ ...event, agent: `${agent}: ${event.agent}` });
	if (event.type !== 'step') return;
	for (const { name, input } of event.toolCalls) print('dim', `  ${agent}: → ${name} ${toOneLine(input)}`);
}

/** The most lines of a diff that are printed. */
const mostLines = 200;

/** Prints a unified diff. */
export function printDiff(diff: string) {
	const lines = diff.trimEnd().split('\n');
	for (const line of lines.slice(0, mostLines)) {
		const isHead = /^(\+\+\+|---|@@) /.test(line);
		print(isHead ? 'dim' : line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : 'dim', `  ${line}`);
	}
	if (lines.length > mostLines) print('dim', `  … ${lines.length - mostLines} more lines`);
}

/** The most tasks of a list that are printed. */
const mostTasks = 12;

const marks = { done: '[x]', failed: '[!]', open: '[ ]' };

/** Prints a list of tasks: a long one from two tasks before the first open one on. */
export function printTasks(list: TaskList) {
	const { title, tasks } = list;
	print('bold', `· ${toOneLine(title)}: ${describeTasks(list)}`);
	const next = tasks.findIndex(({ outcome }) => outcome === undefined);
	const latest = Math.max(0, tasks.length - mostTasks);
	const from = Math.min(latest, next === -1 ? latest : Math.max(0, next - 2));
	if (from > 0) print('dim', `  … ${from} before`);
	for (const [at, { text, outcome = 'open', note }] of tasks.slice(from, from + mostTasks).entries()) {
		const style = outcome === 'failed' ? 'red' : from + at === next ? 'bold' : 'dim';
		print(style, `  ${marks[outcome]} ${toOneLine(text)}${note ? `: ${toOneLine(note)}` : ''}`);
	}
	const after = tasks.length - from - mostTasks;
	if (after > 0) print('dim', `  … ${after} more`);
}

/** Whether the current line has a part of the answer. */
let isInLine = false;

/** Writes text to standard output. */
export function printText(given: string) {
	writeText(toPrintable(given));
}

function writeText(text: string) {
	process.stdout.write(text);
	if (text !== '') isInLine = !text.endsWith('\n');
}

export function endLine() {
	if (isInLine) process.stdout.write('\n');
	isInLine = false;
}

/** Writes a line to standard error. */
export function print(style: 'dim' | 'bold' | 'red' | 'green' | 'yellow', text: string) {
	endLine();
	process.stderr.write(`${styleText(style, toPrintable(text), { stream: process.stderr })}\n`);
}

/**
 * Removes control characters, with which a text could move the cursor or write the clipboard, and those that turn the
 * direction of the text around them.
 */
function toPrintable(text: string): string {
	return text.replace(/(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '');
}

export function toOneLine(value: unknown): string {
	const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
	const line = text.replace(/\s+/g, ' ').trim();
	return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}
