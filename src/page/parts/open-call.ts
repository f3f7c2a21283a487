/** The card of a call that waits for a person: what would happen, who asks, and a form for the answer. */

import { toWords } from '../../client/fields.ts';
import type { Agent, CallAnswer, WaitingCall } from '../../client/index.ts';
import { isRecord } from '../../client/record.ts';
import { say } from '../../client/say.ts';
import { createEdit, createResult, tryToRead } from './call-edit.ts';
import { createEffect } from './call-effect.ts';
import { configure, element, onSubmit } from './element.ts';
import { createIcon } from './icon.ts';
import { showSigns } from './signs.ts';

interface Options {
	/** Describes the arguments (for an approval) or the result. Without it, the form has no separate fields. */
	readonly schema?: unknown;
	/** Says who asks. */
	readonly about?: HTMLElement;
	/** Lets a person also say that what strangers wrote is harmless. Called with the answer. */
	readonly onClear?: (answer: CallAnswer) => void;
}

export function createOpenCall(
	call: WaitingCall,
	onAnswer: (answer: CallAnswer) => void,
	{ schema, about, onClear }: Options,
): HTMLFormElement {
	const { id, name, input, kind, flow } = call;
	const isApproval = kind === 'approval';
	const mistake = configure(element('div', 'mistake'), { role: 'alert' });
	const edit = isApproval && isRecord(input) ? createEdit(name, input, schema, mistake) : undefined;
	const result = isApproval || schema === undefined ? undefined : createResult(name, schema, mistake);
	const text = createReason(name, isApproval ? 'denial' : result ? 'failure' : 'result');
	const yes = createDecision('primary', isApproval ? say('Allow') : say('Done'), isApproval ? 'A' : '');
	const no = createDecision('', isApproval ? say('Deny') : say('Failed'), isApproval ? 'D' : '');
	// A failed call needs no result and a denied call needs no arguments, so the button `no` skips the validation.
	no.formNoValidate = isApproval || result !== undefined;
	const harmless = configure(element('input'), { type: 'checkbox' });
	const words = ` ${say('What strangers wrote is harmless: ask no more because of it')}`;
	const ask = flow && onClear && element('label', 'harmless', harmless, words);
	const why = isApproval ? element('details', 'why-not', element('summary', 'quiet-way', say('Why not')), text) : text;
	const form = element(
		'form',
		'open-call',
		createHeadline(name, isApproval),
		about,
		...createEffect(call, isApproval ? schema : undefined),
		ask,
		result?.root,
		element('div', 'decisions', ...(isApproval ? [yes, no, edit?.root, why] : [why, yes, no])),
	);
	if (why !== text) why.addEventListener('toggle', () => text.focus());
	// A click on the card focuses it, and then the keys of the page decide about it.
	configure(form, { tabIndex: -1, ariaLabel: say('{name} waits', { name }) });
	const todo = isApproval ? '{name} waits: allow or deny it first.' : '{name} waits: say what came of it first.';
	form.dataset.todo = say(todo, { name });
	form.addEventListener('keydown', (event) => {
		// Enter would press the first button, so typing a reason or arguments could approve the call by accident.
		if (!isApproval || event.key !== 'Enter' || !(event.target instanceof HTMLInputElement)) return;
		event.preventDefault();
		(event.target === text ? no : yes).focus();
	});
	onSubmit(form, (submitter) => {
		const isYes = submitter !== no;
		const value = isYes ? tryToRead(mistake, () => (edit ?? result)?.read() ?? {}) : {};
		if (value === undefined) return edit?.showMistake();
		for (const control of form.querySelectorAll('input, select, textarea, button'))
			control.toggleAttribute('disabled', true);
		if (!isApproval) onAnswer({ id, output: text.value, isError: !isYes, ...value });
		else if (isYes) (harmless.checked && onClear ? onClear : onAnswer)({ id, approve: true, ...value });
		else onAnswer({ id, approve: false, ...(text.value !== '' && { reason: text.value }) });
	});
	return form;
}

/** Says what would happen, in words. The name of the tool stands beside it, if it is another. */
function createHeadline(name: string, isApproval: boolean): HTMLElement {
	const words = toWords(name);
	const exact = words.toLowerCase() === name.toLowerCase() ? undefined : element('code', 'tool-name', showSigns(name));
	const headline = element('h3', '', showSigns(isApproval ? words : say('Waits for a result: {words}', { words })));
	return element('div', 'headline', createIcon(isApproval ? 'asks' : 'hand'), headline, exact);
}

/** `key` is the key of the page that presses the button. */
function createDecision(className: string, label: string, key: string): HTMLButtonElement {
	const control = element('button', `decision ${className}`.trim(), label);
	control.prepend(createIcon(className === 'primary' ? 'check' : 'cross'));
	if (key === '') return control;
	control.dataset.key = key;
	control.setAttribute('aria-keyshortcuts', key);
	return control;
}

function createReason(name: string, kind: 'denial' | 'failure' | 'result'): HTMLInputElement {
	const words = {
		denial: ['Reason to deny {name}', 'The model reads this reason'],
		failure: ['Why it failed: {name}', 'Why it failed (if so)'],
		result: ['Result of {name}', 'What came of it'],
	} as const;
	const [label, placeholder] = words[kind];
	return configure(element('input'), {
		type: 'text',
		required: kind === 'result',
		placeholder: say(placeholder),
		ariaLabel: say(label, { name }),
	});
}

/** Highlights the first call that waits for a person. Returns what to do, or undefined if no call waits. */
export function pointAtOpenCall(root: Element): string | undefined {
	const form = root.querySelector('.open-call:has(:is(input, select, textarea):enabled)');
	if (!(form instanceof HTMLElement)) return undefined;
	form.classList.add('pointed');
	form.scrollIntoView({ block: 'nearest' });
	return form.dataset.todo;
}

/** Finds the JSON Schema for the form of a call. It describes the arguments (for an approval) or the result. */
export type FindSchema = (call: Pick<WaitingCall, 'name' | 'kind'>, agent?: string) => unknown;

export function findCallSchema(
	agents: readonly Agent[],
	agent: string,
	{ name, kind }: Pick<WaitingCall, 'name' | 'kind'>,
): unknown {
	const tool = agents.find((known) => known.name === agent)?.tools.find((known) => known.name === name);
	return kind === 'approval' ? tool?.inputSchema : tool?.outputSchema;
}

/** Keeps the forms of open calls and questions, with the text that a person wrote. */
export function createKeptForms() {
	const forms = new Map<string, HTMLElement>();
	return {
		/** Returns the kept form, enabled again, or makes a new form. The key identifies what the form asks. */
		take<Made extends HTMLElement | undefined>(key: string, make: () => Made): HTMLElement | Made {
			const kept = forms.get(key);
			if (kept !== undefined) {
				for (const control of kept.querySelectorAll(':disabled')) control.toggleAttribute('disabled', false);
				return kept;
			}
			const made = make();
			if (made !== undefined) forms.set(key, made);
			return made;
		},
		/** Forgets a form that was sent, because the question can be asked again. The returned function undoes this. */
		forget(form: HTMLElement): () => void {
			const known = [...forms].filter(([, kept]) => kept === form);
			for (const [key] of known) forms.delete(key);
			return () => {
				for (const [key] of known) forms.set(key, form);
			};
		},
		clear: () => forms.clear(),
	};
}
