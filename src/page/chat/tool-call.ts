/** A tool call on the page: a line with the start of its input and result. It opens to show both completely. */

import { say } from '../../client/say.ts';
import type { Message, RunEvent } from '../../client/types.ts';
import { findSkillName, parseInput, splitDiff, toShortInput } from '../../client/words.ts';
import { createDiff } from '../parts/diff.ts';
import { type Child, element, shorten, withoutTurns } from '../parts/element.ts';
import { createMarks, type Labels } from '../parts/labels.ts';
import { describeTime } from '../parts/time.ts';
import { createPictures } from './pictures.ts';

const wordsOfState = {
	running: 'running',
	waiting: 'waits for somebody',
	done: 'done',
	failed: 'failed',
	open: 'no result',
};

export type CallView = ReturnType<typeof createToolCall>;

/** If a call has no duration, `where` is shown instead. */
export function createToolCall(name: string, where = '') {
	const title = element('span', 'name', name);
	const question = element('span', 'brief');
	const answer = element('span', 'answer');
	const took = element('span', 'took', where);
	const marks = element('span', 'marks');
	const state = element('span', 'visually-hidden');
	const input = element('pre');
	const output = element('pre');
	const outputLabel = element('p', 'label', say('Result'));
	const body = element('div', 'body', element('p', 'label', say('Input')), input, outputLabel, output);
	const line = element('summary', '', title, question, answer, marks, took, state);
	const root = element('details', 'call', line, body);
	const json: string[] = [];
	const notes: { readonly line: HTMLElement; readonly detail: string | undefined }[] = [];

	function setState(next: keyof typeof wordsOfState) {
		root.dataset.state = next;
		state.textContent = say(wordsOfState[next]);
		outputLabel.hidden = next !== 'done' && next !== 'failed';
		output.hidden = outputLabel.hidden;
	}
	setState('running');

	return {
		root,

		addInput(part: string) {
			json.push(part);
			input.append(withoutTurns(part));
		},

		endInput() {
			const value = parseInput(json.join(''));
			input.textContent = toFullText(value);
			const skill = findSkillName(name, value);
			title.textContent = skill === undefined ? name : say('skill {name}', { name: skill });
			root.classList.toggle('skill', skill !== undefined);
			question.textContent = skill === undefined ? shorten(withoutTurns(toShortInput(value)), 200) : '';
		},

		setResult(value: unknown, isError: boolean, parts: readonly ResultPart[] = []) {
			setState(isError ? 'failed' : 'done');
			const { diff, rest } = splitDiff(value);
			const text = toFullText(rest);
			output.textContent = text;
			if (isError) for (const { line, detail } of notes) if (detail === text) line.remove();
			const isShort = text.length <= 80 && !text.includes('\n');
			answer.textContent = isError || (isShort && !root.classList.contains('skill')) ? shorten(text, 200) : '';
			if (showPictures(body, parts, diff)) root.open = true;
		},

		/** Shows the stack of a tool's error, collapsed. Only a server on the same machine sends a stack. */
		setStack(lines: string) {
			body.append(element('details', 'stack', element('summary', '', say('Stack')), element('pre', '', lines)));
		},

		/** Adds a note about the call. The note is removed if the call fails with the same words. */
		addNote(line: HTMLElement, detail?: string) {
			notes.push({ line, detail });
		},

		setTime(ms: number) {
			took.textContent = describeTime(ms);
		},

		/** Shows what the result may have. */
		mark: (labels: Labels | undefined) => marks.replaceChildren(...createMarks(labels)),

		/** Makes the element for the run of a child session. `agent` is the name of its agent. */
		nest(agent: Child, session: string): HTMLElement {
			// Remove a note that links to the session, because this element has the same link.
			for (const { line, detail } of notes) if (detail === session) line.remove();
			const place = element('section', 'nested', element('p', 'label', say('By '), agent));
			body.append(place);
			root.open = true;
			return place;
		},

		/** Marks an approved call as running. */
		resume: () => setState('running'),

		/** Marks the call as waiting for an approval or a result. */
		wait: () => setState('waiting'),

		/** Marks the call as open, if it has no result at the end of the run. */
		leave() {
			if (root.dataset.state === 'running') setState('open');
		},
	};
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

function toFullText(value: unknown) {
	return withoutTurns(typeof value === 'string' ? value : (JSON.stringify(value, undefined, 2) ?? ''));
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
