/** The calls and the question of a chat that wait for a person: a form for each, below the conversation. */

import type { CallAnswer, Client, RunEvents, WaitingCall } from '../../client/index.ts';
import type { Question } from '../../client/waits.ts';
import { describeAnswer } from '../../client/words.ts';
import { element } from '../parts/element.ts';
import { createKeptForms, createOpenCall, type FindSchema } from '../parts/open-call.ts';
import { createChoiceOrCall } from '../parts/question.ts';
import { sendAndRead } from './sending.ts';
import type { Transcript } from './transcript.ts';

interface OpenCallsOptions {
	readonly client: Pick<Client, 'getSession' | 'submitResults'>;
	readonly transcript: Transcript;
	/** Shows the run that follows from an answer. */
	readonly play: (events: RunEvents, signal: AbortSignal) => Promise<void>;
	/** Sends the answer to a question. */
	readonly send: (text: string, question: Question) => void;
	readonly findSchema: FindSchema;
	/** Shows why the answer to a call was refused, and the calls that wait now. */
	readonly onRefused: (error: unknown, call: string) => Promise<void>;
}

export interface OpenCalls {
	/** The question that the next message answers. */
	question: Question | undefined;
	/** Shows forms for the calls of a session that wait now. */
	show(id: string, signal: AbortSignal): Promise<void>;
	/** Removes the forms of calls that no longer wait. */
	keep(ids: ReadonlySet<string>): void;
}

export function createOpenCalls({
	client,
	transcript,
	play,
	send,
	findSchema,
	onRefused,
}: OpenCallsOptions): OpenCalls {
	const { root, tail } = transcript;
	const forms = createKeptForms();
	/** The session of the shown forms, and their place. */
	let shown: { readonly id: string; readonly box: HTMLElement; readonly signal: AbortSignal } | undefined;

	async function show(id: string, signal: AbortSignal): Promise<void> {
		const { toolCalls = [], question } = await client.getSession(id, { signal });
		if (id !== shown?.id) forms.clear();
		const all = [
			...toolCalls.map((call) => forms.take(JSON.stringify(call), () => createCall(call))),
			question && forms.take(JSON.stringify(question), () => createAsked(question)),
		].filter((form) => form !== undefined);
		if (all.length === 0) return;
		clear();
		const box = element('div', 'open-calls', ...all);
		shown = { id, box, signal };
		root.append(box);
		tail.toEnd();
	}

	function createCall(call: WaitingCall): HTMLElement {
		const form = createOpenCall(call, (given) => void answer(given, form), findSchema(call));
		form.dataset.call = call.id;
		return form;
	}

	function createAsked(question: Question): HTMLElement | undefined {
		const form = createChoiceOrCall(question, sendAnswer, findSchema);
		function sendAnswer(text: string): void {
			clear();
			if (form !== undefined) forms.forget(form);
			send(text, question);
		}
		return form;
	}

	function clear(): void {
		for (const old of root.querySelectorAll('.open-calls')) old.remove();
	}

	async function answer(given: CallAnswer, form: HTMLElement): Promise<void> {
		if (shown === undefined) return;
		const { id, box, signal } = shown;
		const bubble = transcript.addMessage(describeAnswer(given));
		transcript.showAnswer(given);
		const keepAfterAll = forms.forget(form);
		if (box.querySelector(':is(input, select, textarea):enabled') === null) box.remove();
		try {
			const begin = (reading: AbortSignal) => client.submitResults(id, [given], { signal: reading });
			await play(sendAndRead(signal, begin), signal);
		} catch (error) {
			if (signal.aborted) return;
			keepAfterAll();
			bubble.remove();
			box.remove();
			transcript.calls.get(given.id)?.wait();
			await onRefused(error, given.id);
		}
	}

	function keep(ids: ReadonlySet<string>): void {
		for (const form of root.querySelectorAll<HTMLElement>('.open-calls > [data-call]:has(:enabled)')) {
			if (ids.has(form.dataset.call ?? '')) continue;
			form.remove();
			forms.forget(form);
		}
	}

	return { show, keep, question: undefined };
}
