/** What waits for a person, as a card: what a call would do, or the question of a tool. */

import { describeValue, type ShownValue, toWords } from '../../client/fields.ts';
import { type CallAnswer, ClientError, type Session, type WaitingCall } from '../../client/index.ts';
import { isRecord } from '../../client/record.ts';
import { findChildCall, findChoices, type Question, toChildAnswer } from '../../client/waits.ts';
import { describeSpent, parseInput } from '../../client/words.ts';
import { showSigns } from '../../core/base/text.ts';
import { getColumns, print } from './print.ts';
import { printDiff } from './terminal.ts';
import { measure, wrap } from './width.ts';

type Asking = Pick<Session, 'agent' | 'user' | 'title' | 'wait' | 'labels'> & Partial<Pick<Session, 'budget'>>;

/** Prints a waiting call. `count` is the number of calls that wait. */
export function printCall({ name, input, kind, flow, preview }: WaitingCall, asking: Asking, count = 1) {
	const more = count > 1 ? ` (1 of ${count})` : '';
	const isApproval = kind === 'approval';
	const words = showSigns(toWords(name));
	print('bold', isApproval ? `${words}?${more}` : `Waits for a result: ${words}${more}`);
	printField('dim', '', describeAsking(asking, name));
	printValue(describeValue(input));
	if (preview !== undefined) printPreview(showSigns(preview));
	if (flow !== undefined) {
		const list = (label: string, texts: readonly string[]) =>
			texts.length > 0 && printField('yellow', label, texts.join('\n'));
		list('Would be sent to', flow.targets.length > 0 ? flow.targets.map(showSigns) : ['an unknown place']);
		list(
			'Strangers may have written',
			flow.outside.map(({ what }) => showSigns(what)),
		);
		list(
			'Private',
			flow.private.map(({ what }) => showSigns(what)),
		);
	}
	print(
		'dim',
		isApproval
			? 'a allows it, d denies it, other words deny it with that reason'
			: 'Its result, or ! and why it failed',
	);
}

/** Prints a question: a text, with its choices, or a call of a child. */
export function printQuestion(question: Question, asking: Asking) {
	const child = findChildCall(question);
	if (child !== undefined) return printCall(child.call, { ...asking, agent: child.agent ?? asking.agent });
	print('bold', question.question);
	printField('dim', '', describeAsking(asking));
	for (const [at, choice] of (findChoices(question) ?? []).entries()) print('dim', `  ${at + 1}. ${choice}`);
}

/** Says who asks, for whom, since when and until when, what the session has cost so far, and from what text. */
function describeAsking({ agent, user, title, wait, budget, labels = [] }: Asking, name?: string): string {
	const facts = [
		name === undefined ? agent : `${agent} calls ${showSigns(name)}`,
		...(title === undefined ? [] : [`in “${showSigns(title)}”`]),
		...(user === undefined ? [] : [`for ${showSigns(user)}`]),
		...(wait === undefined ? [] : [`since ${showTime(wait.since)}`]),
		...(wait?.expiresAt === undefined ? [] : [`until ${showTime(wait.expiresAt)}`]),
		...(budget === undefined || budget.spent.tokens === 0 ? [] : [describeSpent(budget.spent)]),
		...labels.map((label) => (label === 'outside' ? 'from outside' : 'private')),
	];
	return facts.join(' · ');
}

const showTime = (at: string) => `${at.slice(0, 16).replace('T', ' ')} UTC`;

/** Prints each argument with its exact value. Those of an argument stand below its name, indented. */
function printValue(value: ShownValue, label = '', depth = 0) {
	if (value.kind === 'text' || value.kind === 'none') return printField('dim', label, showSigns(value.text), depth);
	if (label !== '') printField('dim', label, '', depth);
	const inner = label === '' ? depth : depth + 1;
	if (value.kind === 'fields') for (const field of value.fields) printValue(field.value, showSigns(field.label), inner);
	if (value.kind === 'list') for (const [at, item] of value.items.entries()) printValue(item, `${at + 1}`, inner);
}

function printField(style: 'dim' | 'yellow', label: string, text: string, depth = 0) {
	const begin = `${'  '.repeat(depth + 1)}${label}${label === '' ? '' : text === '' ? ':' : ': '}`;
	const indent = measure(begin);
	const columns = Math.max(20, getColumns() - indent);
	print(style, begin + wrap(text, columns, { isStrict: true }).join(`\n${' '.repeat(indent)}`));
}

function printPreview(preview: string) {
	if (/^(?:diff |--- |@@)/m.test(preview)) return printDiff(preview, Number.POSITIVE_INFINITY);
	printField('dim', '', preview);
}

/** Reads the answer to a call. Throws if changed arguments are no JSON. */
export function toAnswer({ id, kind }: Pick<WaitingCall, 'id' | 'kind'>, line: string): CallAnswer {
	if (kind !== 'approval') {
		const isError = line.startsWith('!');
		return { id, output: isError ? line.slice(1).trim() : line, isError };
	}
	const yes = /^(?:a|allow|approve|y|yes|ok)(?:\s+(\{.*))?$/is.exec(line.trim());
	const no = /^(?:(?:d|deny|n|no)|(?:d|deny)\s+(.+))$/is.exec(line.trim());
	if (no !== null) return { id, approve: false, ...(no[1] !== undefined && { reason: no[1] }) };
	if (yes === null) return { id, approve: false, reason: line };
	if (yes[1] === undefined) return { id, approve: true };
	const input = parseInput(yes[1]);
	if (!isRecord(input))
		throw new ClientError('invalid_argument', `${yes[1]}: this is no JSON object, so nothing was sent.`);
	return { id, approve: true, input };
}

/** Reads the answer to a question: the number of a choice, the answer to a child's call, or a text. */
export function toAnswerText(question: Question, line: string): string {
	const child = findChildCall(question);
	if (child !== undefined) return toChildAnswer(toAnswer(child.call, line));
	const choices = findChoices(question) ?? [];
	return choices.includes(line) ? line : (choices[Number(line) - 1] ?? line);
}
