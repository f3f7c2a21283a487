/** Prints for `runlet chat`: the answer to standard output, everything else to standard error. */

import { styleText } from 'node:util';
import type { ChildEvent, RunEvent, TaskList } from '../../client/index.ts';
import { createFootnotes, createProviderCalls, hasEnded } from '../../client/provided.ts';
import type { ProviderCall } from '../../client/types.ts';
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
import { endLine, print, printText, toOneLine, toPrintable, writeText } from './print.ts';

/** Whether standard output shows styles. It does on a terminal or with FORCE_COLOR, unless NO_COLOR is set. */
const isStyled = styleText('bold', '-', { stream: process.stdout }) !== '-';

/** Prints the events of a run. Formats Markdown if the terminal has styles. */
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
	const provided = createProvided();
	let isThinking = false;
	return {
		hasFailed: () => hasFailed,
		/** Prints the rest of a text. */
		end: prose.end,
		write(event: RunEvent) {
			// The events of sources arrive between the words of a text.
			if (event.type !== 'text' && event.type !== 'source') prose.end();
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
				case 'provider_tool':
				case 'source':
					return provided.take(event);
				case 'tool_result':
					return endResult(event.id, event.output, event.isError === true);
				case 'note':
					return print('dim', `· ${event.label}${event.detail ? ` ${event.detail}` : ''}`);
				case 'tasks': {
					for (const list of event.lists) printTasks(list);
					// The result of the call would only repeat this line.
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
					provided.dropTurn();
					return print('dim', 'The answer was interrupted and starts again:');
				case 'stop': {
					isThinking = false;
					provided.endTurn();
					endLine();
					const words = describeStop(event.reason);
					return words ? print('yellow', words) : undefined;
				}
				case 'done':
				case 'awaiting':
				case 'halted':
				case 'cancelled':
				case 'error':
					hasFailed = event.type !== 'done' && event.type !== 'awaiting';
					provided.end();
					return printEnd(event);
			}
		},
	};
}

type EndEvent = Extract<RunEvent, { type: 'done' | 'awaiting' | 'halted' | 'cancelled' | 'error' }>;

function printEnd(event: EndEvent) {
	switch (event.type) {
		case 'done': {
			const words = describeUsage(event.usage);
			return words ? print('dim', words) : undefined;
		}
		case 'awaiting':
			return print('bold', describeAwaiting(event));
		case 'halted':
			return print('yellow', describeHalt(event.reason));
		case 'cancelled':
			return print('dim', 'Stopped.');
		case 'error':
			return print('red', `${event.message} (${event.code})`);
	}
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

/** Prints the calls of a child, but not the child's answer, which is the result of the call that started the child. */
function printChild({ agent, event }: ChildEvent) {
	if (event.type === 'child') printChild({ ...event, agent: `${agent}: ${event.agent}` });
	if (event.type !== 'step') return;
	for (const call of event.providerCalls ?? []) print('dim', `  ${agent}: ${describeProviderCall(call)}`);
	for (const { name, input } of event.toolCalls) print('dim', `  ${agent}: → ${name} ${toOneLine(input)}`);
}

/** The maximum number of printed lines of a diff. */
const mostLines = 200;

export function printDiff(diff: string) {
	const lines = diff.trimEnd().split('\n');
	for (const line of lines.slice(0, mostLines)) {
		const isHead = /^(\+\+\+|---|@@) /.test(line);
		print(isHead ? 'dim' : line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : 'dim', `  ${line}`);
	}
	if (lines.length > mostLines) print('dim', `  … ${lines.length - mostLines} more lines`);
}

/** The maximum number of printed tasks of a list. */
const mostTasks = 12;

const marks = { done: '[x]', failed: '[!]', open: '[ ]' };

/** Prints a list of tasks. A long list begins two tasks before the first open task. */
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

/** The maximum number of printed footnotes. */
const mostNotes = 50;

function createProvided() {
	const footnotes = createFootnotes();
	const calls = createProviderCalls(() => ({ isPrinted: false }));

	function printCall(call: ProviderCall) {
		const state = calls.take(call);
		const isOver = hasEnded(call);
		// Some providers send the input only with the result.
		if (!state.isPrinted && (call.input !== undefined || isOver)) {
			state.isPrinted = true;
			print('dim', describeProviderCall(call));
		}
		if (call.isError === true) print('red', `← ${call.name}: ${toOneLine(call.output ?? 'The tool failed.')}`);
	}

	return {
		take(event: Extract<RunEvent, { type: 'provider_tool' | 'source' }>) {
			if (event.type === 'source') footnotes.add(event);
			else printCall(event);
		},
		endTurn() {
			calls.endTurn();
			footnotes.endTurn();
		},
		dropTurn() {
			calls.dropTurn();
			footnotes.dropTurn();
		},
		/** Prints the sources of the answer. */
		end() {
			footnotes.endTurn();
			const notes = footnotes.list();
			for (const { number, title, url } of notes.slice(0, mostNotes)) {
				const address = url === undefined || url === title ? '' : ` ${url}`;
				print('dim', `[${number}] ${toOneLine(title)}${address}`);
			}
			if (notes.length > mostNotes) print('dim', `… ${notes.length - mostNotes} more sources`);
		},
	};
}

function describeProviderCall({ name, input }: ProviderCall): string {
	return `→ ${name}${input === undefined ? '' : ` ${toOneLine(input)}`} (at the provider)`;
}
