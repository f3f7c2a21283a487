/** A question that waits for a person: a text field, a button for each choice, or the form for a child's call. */

import { say } from '../../client/say.ts';
import { findChildCall, findChoices, type Question, toChildAnswer } from '../../client/waits.ts';
import { button, configure, element, onSubmit } from './element.ts';
import { createIcon } from './icon.ts';
import { createOpenCall, type FindSchema } from './open-call.ts';

/** What a form for a question needs besides the question. */
interface Options {
	/** Says who asks: the agent of the session, or the given agent. */
	readonly createAbout: (agent?: string) => HTMLElement | undefined;
	readonly findSchema: FindSchema;
}

export function createQuestion(question: Question, onAnswer: (answer: string) => void, options: Options): HTMLElement {
	return createChoiceOrCall(question, onAnswer, options) ?? createLine(question.question, onAnswer, options);
}

/** Returns undefined if the answer to the question is a plain text. */
export function createChoiceOrCall(
	question: Question,
	onAnswer: (answer: string) => void,
	{ createAbout, findSchema }: Options,
): HTMLElement | undefined {
	const childCall = findChildCall(question);
	if (childCall !== undefined) {
		const { agent, call } = childCall;
		// A result is sent as text, so its form needs no schema.
		const schema = call.kind === 'approval' ? findSchema(call, agent) : undefined;
		return createOpenCall(call, (answer) => onAnswer(toChildAnswer(answer)), { schema, about: createAbout(agent) });
	}
	const choices = findChoices(question);
	return choices ? createChoice(question.question, choices, onAnswer, createAbout()) : undefined;
}

function createLine(question: string, onAnswer: (answer: string) => void, { createAbout }: Options): HTMLElement {
	const ariaLabel = say('Answer: {question}', { question });
	const text = configure(element('input'), {
		type: 'text',
		required: true,
		placeholder: say('Your answer'),
		ariaLabel,
	});
	const send = element('button', 'primary', say('Answer'));
	const form = element(
		'form',
		'open-call',
		...createHead(question, createAbout()),
		element('div', 'decisions', text, send),
	);
	form.tabIndex = -1;
	onSubmit(form, () => {
		if (text.value.trim() === '') return;
		for (const control of [text, send]) control.disabled = true;
		onAnswer(text.value);
	});
	return form;
}

function createChoice(
	question: string,
	choices: readonly string[],
	onAnswer: (answer: string) => void,
	about: HTMLElement | undefined,
): HTMLElement {
	const buttons = choices.map((choice) =>
		button('', choice, () => {
			for (const other of buttons) other.disabled = true;
			onAnswer(choice);
		}),
	);
	const form = element('div', 'open-call', ...createHead(question, about), element('div', 'decisions', ...buttons));
	return configure(form, { role: 'group', ariaLabel: question, tabIndex: -1 });
}

function createHead(question: string, about: HTMLElement | undefined): (HTMLElement | undefined)[] {
	const headline = element('div', 'headline', createIcon('bubble'), element('h3', 'asked', question));
	return [headline, about];
}
