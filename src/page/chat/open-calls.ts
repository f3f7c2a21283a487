/** The forms below the conversation, for the calls and the question that wait for a person. */

import type { CallAnswer, RunEvents, Session, WaitingCall } from '../../client/index.ts';
import type { SessionClient } from '../../client/sessions.ts';
import { findChildCall, type Question } from '../../client/waits.ts';
import { toText } from '../../client/words.ts';
import type { Asking } from '../parts/asked-by.ts';
import { element } from '../parts/element.ts';
import type { Visit } from '../parts/live.ts';
import { createKeptForms, createOpenCall, type FindSchema } from '../parts/open-call.ts';
import { createChoiceOrCall } from '../parts/question.ts';
import { sendAndRead } from './sending.ts';
import type { Transcript } from './transcript.ts';

interface Options {
	readonly client: SessionClient;
	readonly transcript: Transcript;
	/** Shows the run that continues after an answer. */
	readonly play: (events: RunEvents, signal: AbortSignal) => Promise<void>;
	/** Sends the answer to a question. */
	readonly send: (text: string, question: Question) => void;
	readonly findSchema: FindSchema;
	/** Says who asks. Missing where that is not shown. */
	readonly createAskedBy: ((asking: Asking) => HTMLElement) | undefined;
	/** Whether the reader can allow calls. If not, approvals have no form. */
	readonly mayDecide: (() => boolean) | undefined;
	/** Whether the reader can answer the other calls. */
	readonly mayWrite: (() => boolean) | undefined;
	/** Called if the answer to a call was refused. Shows the reason, and the calls that wait now. */
	readonly onRefused: (error: unknown, call: string) => Promise<void>;
}

export interface OpenCalls {
	/** The question that the next message answers. */
	question: Question | undefined;
	/** Shows a form for each waiting call of a session, and for its question. */
	show(visit: Visit): Promise<void>;
	/** Removes the forms of calls that no longer wait. */
	keep(ids: ReadonlySet<string>): void;
}

const yes = (): boolean => true;

export function createOpenCalls(options: Options): OpenCalls {
	const { client, transcript, play, send, findSchema, createAskedBy, onRefused } = options;
	const { mayDecide = yes, mayWrite = yes } = options;
	const { root, tail } = transcript;
	const forms = createKeptForms();
	/** The session whose forms are shown, and the element that contains the forms. */
	let shown: (Visit & { readonly box: HTMLElement }) | undefined;

	async function show({ id, signal }: Visit): Promise<void> {
		const session = await client.getSession(id, { signal });
		const { toolCalls = [], question } = session;
		const createAbout: CreateAbout = (agent) => createAskedBy?.(toAsking(session, agent));
		if (id !== shown?.id) forms.clear();
		const all = [
			...toolCalls
				.filter(({ kind }) => mayAnswer(kind))
				.map((call) => forms.take(JSON.stringify(call), () => createCall(call, createAbout()))),
			question && forms.take(JSON.stringify(question), () => createQuestion(question, createAbout)),
		].filter((form) => form !== undefined);
		if (all.length === 0) return;
		clear();
		const box = element('div', 'open-calls', ...all);
		shown = { id, box, signal };
		root.append(box);
		tail.toEnd();
	}

	const mayAnswer = (kind: WaitingCall['kind'] | undefined): boolean =>
		kind === 'approval' ? mayDecide() : mayWrite();

	function createCall(call: WaitingCall, about: HTMLElement | undefined): HTMLElement {
		const schema = findSchema(call);
		const form = createOpenCall(call, (answer) => void sendAnswer(answer, form), { schema, about });
		form.dataset.call = call.id;
		return form;
	}

	function createQuestion(question: Question, createAbout: CreateAbout): HTMLElement | undefined {
		if (!mayAnswer(findChildCall(question)?.call.kind)) return undefined;
		const onAnswer = (text: string): void => {
			clear();
			if (form !== undefined) forms.forget(form);
			send(text, question);
		};
		const form = createChoiceOrCall(question, onAnswer, { createAbout, findSchema });
		return form;
	}

	function clear(): void {
		for (const old of root.querySelectorAll('.open-calls')) old.remove();
	}

	async function sendAnswer(answer: CallAnswer, form: HTMLElement): Promise<void> {
		if (shown === undefined) return;
		const { id, box, signal } = shown;
		// A decision is shown at its call.
		const bubble = 'approve' in answer ? undefined : transcript.addMessage(toText(answer.output));
		transcript.showAnswer(answer);
		const keepAgain = forms.forget(form);
		if (box.querySelector(':is(input, select, textarea):enabled') === null) box.remove();
		try {
			const begin = (reading: AbortSignal) => client.submitResults(id, [answer], { signal: reading });
			await play(sendAndRead(signal, begin), signal);
		} catch (error) {
			if (signal.aborted) return;
			keepAgain();
			bubble?.remove();
			box.remove();
			transcript.calls.get(answer.id)?.wait();
			await onRefused(error, answer.id);
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

type CreateAbout = (agent?: string) => HTMLElement | undefined;

function toAsking({ user, labels, budget, wait, ...session }: Session, agent = session.agent): Asking {
	return { agent, user, labels, spent: budget.spent, ...wait };
}
