/** A tool call on the page: a line with its main argument or its result. It opens to show both completely. */

import { describeBriefly, toWords } from '../../client/fields.ts';
import { say } from '../../client/say.ts';
import type { Message, RunEvent } from '../../client/types.ts';
import { describeDenial, findSkillName, parseInput, splitDiff } from '../../client/words.ts';
import { createDiff } from '../parts/diff.ts';
import { type Child, configure, element, shorten, withoutTurns } from '../parts/element.ts';
import { createFields } from '../parts/fields.ts';
import { createIcon, type IconName } from '../parts/icon.ts';
import { createMarks, type Labels } from '../parts/labels.ts';
import { describeTime } from '../parts/time.ts';
import { createPictures } from './pictures.ts';

/** The words for each state, and the icon, if it is not the icon of the kind of call. */
const states = {
	running: ['running', 'loader'],
	waiting: ['waits for somebody', 'hand'],
	done: ['done', undefined],
	failed: ['failed', 'cross'],
	open: ['no result', undefined],
} as const;

type State = keyof typeof states;

/** Bubbles from a call whose state has changed. */
export const stateChange = 'callstate';
/** Bubbles from a call that shows something which a reader should see. */
export const reveal = 'callreveal';

export type CallView = ReturnType<typeof createToolCall>;

/** `icon` is the icon of its kind. If a call has no duration, `where` is shown instead. */
export function createToolCall(name: string, { icon = 'tool', where = '' }: { icon?: IconName; where?: string } = {}) {
	const { root, sign, title, question, answer, marks, took, words, ...inside } = createElements(name, where);
	const { body, input, outputLabel, output } = inside;
	const json: string[] = [];
	const notes = createNotes();
	let kind = icon;

	function setState(next: State) {
		const [text, own = kind] = states[next];
		root.dataset.state = next;
		sign.replaceChildren(createIcon(own));
		words.textContent = say(text);
		outputLabel.hidden = next !== 'done' && next !== 'failed';
		output.hidden = outputLabel.hidden;
		root.dispatchEvent(new Event(stateChange, { bubbles: true }));
	}
	setState('running');

	function open() {
		root.open = true;
		root.dispatchEvent(new Event(reveal, { bubbles: true }));
	}

	return {
		root,

		addInput(part: string) {
			json.push(part);
			input.append(withoutTurns(part));
		},

		endInput() {
			const value = parseInput(json.join(''));
			input.replaceChildren(createDetails(value));
			const skill = findSkillName(name, value);
			if (skill !== undefined) {
				kind = 'skill';
				title.textContent = withoutTurns(say('Skill {name}', { name: skill }));
			}
			question.textContent = skill === undefined ? shorten(withoutTurns(describeBriefly(value)), 200) : '';
		},

		setResult(value: unknown, isError: boolean, parts: readonly ResultPart[] = []) {
			setState(isError ? 'failed' : 'done');
			const { diff, rest } = splitDiff(isError ? sayDenial(value) : value);
			output.replaceChildren(createDetails(rest));
			if (isError) notes.remove(rest);
			const brief = withoutTurns(describeBriefly(rest));
			const isShort = brief.length <= 80 && !brief.includes('\n');
			answer.textContent = isError || (isShort && kind !== 'skill') ? shorten(brief, 200) : '';
			if (showPictures(body, parts, diff)) open();
		},

		/** Shows the stack of a tool's error, collapsed. Only a server on the same machine sends a stack. */
		setStack(lines: string) {
			body.append(element('details', 'stack', element('summary', '', say('Stack')), element('pre', '', lines)));
		},

		addNote: notes.add,

		setTime(ms: number) {
			took.textContent = describeTime(ms);
		},

		/** Shows what the result may have. */
		mark: (labels: Labels | undefined) => marks.replaceChildren(...createMarks(labels)),

		/** Makes the element for the run of a child session. `agent` is the name of its agent. */
		nest(agent: Child, session: string): HTMLElement {
			// This element has the same link.
			notes.remove(session);
			const place = element('section', 'nested', element('p', 'label', say('By '), agent));
			body.append(place);
			kind = 'agent';
			open();
			return place;
		},

		/** An approved call runs again. */
		resume: () => setState('running'),
		wait: () => setState('waiting'),

		/** Marks the call as open, if it has no result at the end of the run. */
		leave() {
			if (root.dataset.state === 'running') setState('open');
		},
	};
}

function createElements(name: string, where: string) {
	const line = {
		sign: element('span', 'sign'),
		title: configure(element('span', 'name', toWords(name)), { title: withoutTurns(name) }),
		question: element('span', 'brief'),
		answer: element('span', 'answer'),
		marks: element('span', 'marks'),
		took: element('span', 'took', where),
		words: element('span', 'visually-hidden'),
	};
	const input = element('div', 'call-input');
	const output = element('div', 'call-result');
	const outputLabel = element('p', 'label', say('Result'));
	const body = element('div', 'body', element('p', 'label', say('Input')), input, outputLabel, output);
	const root = element('details', 'call', element('summary', '', ...Object.values(line)), body);
	return { ...line, root, body, input, outputLabel, output };
}

/** Notes about a call. A note is removed when the call shows the same itself. */
function createNotes() {
	const notes: { readonly line: HTMLElement; readonly detail: string | undefined }[] = [];
	return {
		add(line: HTMLElement, detail?: string): void {
			notes.push({ line, detail });
		},
		remove(detail: unknown): void {
			for (const note of notes) if (note.detail === detail) note.line.remove();
		},
	};
}

/** The longest JSON that is shown as fields. */
const longestFields = 20_000;

/** Shows an input or a result: a text as it is, else its fields. */
function createDetails(value: unknown): HTMLElement {
	if (typeof value === 'string') return element('pre', '', value);
	const json = JSON.stringify(value, undefined, 2) ?? '';
	return json.length > longestFields ? element('pre', '', json) : createFields(value);
}

/** Returns the words for a denied call in place of what the model reads. */
function sayDenial(result: unknown): unknown {
	const denied = /^A person did not allow this call. ?(.*)/s.exec(`${result}`);
	return denied ? describeDenial(denied[1]) : result;
}

type ResultPart = NonNullable<Extract<RunEvent, { type: 'tool_result' }>['parts']>[number];

/** Shows the images and the changes of a result, in place of earlier ones. Returns whether there are any. */
function showPictures(
	body: HTMLElement,
	parts: readonly ResultPart[],
	diff: ReturnType<typeof splitDiff>['diff'],
): boolean {
	for (const old of body.querySelectorAll('.images, .diff')) old.remove();
	const pictures = createPictures(parts);
	if (pictures !== undefined) body.append(pictures);
	if (diff !== undefined) body.append(createDiff(diff));
	return pictures !== undefined || diff !== undefined;
}

/**
 * Shows how long each call took, and what its result may have. Leaves out the time of a call that waited for a person: its
 * result is in another run.
 */
export function showCallFacts(calls: ReadonlyMap<string, CallView>, messages: readonly Message[]): void {
	const begun = new Map<string, { readonly at: number; readonly runId: string | undefined }>();
	for (const message of messages) {
		if (message.role === 'assistant')
			for (const { id, labels } of message.toolCalls ?? []) {
				calls.get(id)?.mark(labels);
				begun.set(id, { at: Date.parse(message.createdAt), runId: message.runId });
			}
		if (message.role !== 'tool') continue;
		const from = begun.get(message.toolCallId);
		if (from !== undefined && from.runId === message.runId)
			calls.get(message.toolCallId)?.setTime(Date.parse(message.createdAt) - from.at);
	}
}
