/** A question that waits for a person: a text field, a button for each choice, or the form for the call of a child. */

import type { CallAnswer } from '../../client/index.ts';
import { findChildCall, type Question } from '../../client/waits.ts';
import { button, element } from './element.ts';
import { createOpenCall, type FindSchema } from './open-call.ts';

/** Makes a form for the answer to a question. */
export function createQuestion(
	question: Question,
	onAnswer: (answer: string) => void,
	findSchema: FindSchema,
): HTMLElement {
	return createChoiceOrCall(question, onAnswer, findSchema) ?? createLine(question.question, onAnswer);
}

/** Makes a form for the answer to a question that is more than a line of text. */
export function createChoiceOrCall(
	question: Question,
	onAnswer: (answer: string) => void,
	findSchema: FindSchema,
): HTMLElement | undefined {
	const asked = findChildCall(question);
	if (asked !== undefined) {
		const { agent, call } = asked;
		const shown = agent === undefined ? call : { ...call, name: `${agent}: ${call.name}` };
		// A result is given as a text.
		const schema = call.kind === 'approval' ? findSchema(call, agent) : undefined;
		return createOpenCall(shown, (answer) => onAnswer(toText(answer)), schema);
	}
	const choices = question.options?.choices;
	return isTexts(choices) ? createChoice(question.question, choices, onAnswer) : undefined;
}

function createLine(question: string, onAnswer: (answer: string) => void): HTMLElement {
	const text = element('input', '');
	text.type = 'text';
	text.required = true;
	text.placeholder = 'Your answer';
	text.setAttribute('aria-label', `Answer: ${question}`);
	const send = element('button', 'retry yes', 'Answer');
	const form = element('form', 'open-call', element('p', 'asked', question), text, send);
	form.addEventListener('submit', (event) => {
		event.preventDefault();
		if (text.value.trim() === '') return;
		for (const control of [text, send]) control.disabled = true;
		onAnswer(text.value);
	});
	return form;
}

/** The answer to the call of a child, as its parent takes it. */
function toText(answer: CallAnswer): string {
	if ('output' in answer) return String(answer.output);
	if (!answer.approve) return `deny ${answer.reason ?? ''}`.trim();
	return answer.input === undefined ? 'approve' : `approve ${JSON.stringify(answer.input)}`;
}

function createChoice(question: string, choices: readonly string[], onAnswer: (answer: string) => void): HTMLElement {
	const buttons = choices.map((choice) =>
		button('retry', choice, () => {
			for (const one of buttons) one.disabled = true;
			onAnswer(choice);
		}),
	);
	const form = element('div', 'open-call', element('p', 'asked', question), ...buttons);
	form.setAttribute('role', 'group');
	form.setAttribute('aria-label', question);
	return form;
}

const isTexts = (value: unknown): value is string[] =>
	Array.isArray(value) && value.length > 0 && value.length <= 12 && value.every((one) => typeof one === 'string');
