/** A question that waits for a person: a text field, a button for each choice, or the form for a child's call. */

import { say } from '../../client/say.ts';
import { findChildCall, findChoices, type Question, toChildAnswer } from '../../client/waits.ts';
import { button, configure, element, onSubmit } from './element.ts';
import { createOpenCall, type FindSchema } from './open-call.ts';

export function createQuestion(
	question: Question,
	onAnswer: (answer: string) => void,
	findSchema: FindSchema,
): HTMLElement {
	return createChoiceOrCall(question, onAnswer, findSchema) ?? createLine(question.question, onAnswer);
}

/** Returns undefined if the answer to the question is a plain text. */
export function createChoiceOrCall(
	question: Question,
	onAnswer: (answer: string) => void,
	findSchema: FindSchema,
): HTMLElement | undefined {
	const childCall = findChildCall(question);
	if (childCall !== undefined) {
		const { agent, call } = childCall;
		const shown = agent === undefined ? call : { ...call, name: `${agent}: ${call.name}` };
		// A result is sent as text, so its form needs no schema.
		const schema = call.kind === 'approval' ? findSchema(call, agent) : undefined;
		return createOpenCall(shown, (answer) => onAnswer(toChildAnswer(answer)), { schema });
	}
	const choices = findChoices(question);
	return choices ? createChoice(question.question, choices, onAnswer) : undefined;
}

function createLine(question: string, onAnswer: (answer: string) => void): HTMLElement {
	const ariaLabel = say('Answer: {question}', { question });
	const text = configure(element('input'), {
		type: 'text',
		required: true,
		placeholder: say('Your answer'),
		ariaLabel,
	});
	const send = element('button', 'primary', say('Answer'));
	const form = element('form', 'open-call', element('p', 'asked', question), text, send);
	onSubmit(form, () => {
		if (text.value.trim() === '') return;
		for (const control of [text, send]) control.disabled = true;
		onAnswer(text.value);
	});
	return form;
}

function createChoice(question: string, choices: readonly string[], onAnswer: (answer: string) => void): HTMLElement {
	const buttons = choices.map((choice) =>
		button('', choice, () => {
			for (const other of buttons) other.disabled = true;
			onAnswer(choice);
		}),
	);
	const form = element('div', 'open-call', element('p', 'asked', question), ...buttons);
	return configure(form, { role: 'group', ariaLabel: question });
}
