/** A call that waits for a person: a form for its result or for its approval. */

import { type Agent, type CallAnswer, ClientError, type WaitingCall } from '../../client/index.ts';
import { isRecord } from '../../client/record.ts';
import { say } from '../../client/say.ts';
import { createDiff } from './diff.ts';
import { button, configure, element, onSubmit } from './element.ts';
import { parseField } from './form.ts';
import { createSchemaField, isSame, type SchemaField } from './schema-form.ts';
import { showSigns } from './signs.ts';

/** The maximum length of arguments that are shown on the line of the call. */
const shortInput = 80;

/**
 * `schema` describes the arguments (for an approval) or the result. Without it, the form has no separate fields. With
 * `onClear`, a person can also say that what strangers wrote is harmless. Then `onClear` gets the answer.
 */
export function createOpenCall(
	{ id, name, input, kind, flow, preview }: WaitingCall,
	onAnswer: (answer: CallAnswer) => void,
	{ schema, onClear }: { readonly schema?: unknown; readonly onClear?: (answer: CallAnswer) => void } = {},
): HTMLFormElement {
	const isApproval = kind === 'approval';
	const mistake = configure(element('div', 'mistake'), { role: 'alert' });
	const edit = isApproval && isRecord(input) ? createEdit(name, input, schema, mistake) : undefined;
	const result = isApproval || schema === undefined ? undefined : createResult(name, schema, mistake);
	const label = isApproval ? 'Reason to deny {name}' : result ? 'Why it failed: {name}' : 'Result of {name}';
	const text = configure(element('input'), {
		type: 'text',
		required: !isApproval && result === undefined,
		placeholder: say(isApproval ? 'Why not (if so)' : result ? 'Why it failed (if so)' : 'What came of it'),
		ariaLabel: say(label, { name }),
	});
	const yes = element('button', 'primary', say(isApproval ? 'Allow' : 'Done'));
	const no = element('button', '', say(isApproval ? 'Deny' : 'Failed'));
	// A failed call needs no result and a denied call needs no arguments, so the button `no` skips the validation.
	no.formNoValidate = isApproval || result !== undefined;
	const harmless = configure(element('input'), { type: 'checkbox' });
	const why = flow && describeFlow(flow);
	const ask =
		flow &&
		onClear &&
		element('label', 'harmless', harmless, ' What strangers wrote is harmless: ask no more because of it');
	const form = element(
		'form',
		'open-call',
		...describeCall(name, input, flow !== undefined),
		preview === undefined ? undefined : createPreview(preview),
		why,
		ask,
		edit?.root,
		result?.root,
		text,
		yes,
		no,
	);
	form.ariaLabel = say('{name} waits', { name });
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

/** Reads a field. If the field has an error, shows the error and returns undefined. */
function tryToRead<T>(mistake: HTMLElement, read: () => T): T | undefined {
	mistake.textContent = '';
	try {
		return read();
	} catch (error) {
		if (!(error instanceof ClientError)) throw error;
		mistake.textContent = error.message;
		return undefined;
	}
}

/** Lets a person change the model's arguments, in the fields of their schema or as JSON. */
function createEdit(name: string, input: Readonly<Record<string, unknown>>, schema: unknown, mistake: HTMLElement) {
	const title = say('Arguments of {name}', { name });
	const place = element('div', 'result-fields');
	const root = element('details', 'edit', element('summary', 'about', say('Change the arguments')), place, mistake);
	let field: SchemaField | undefined;
	/** Whether all arguments are in a single text of JSON. */
	const isJson = ({ node }: SchemaField): boolean => !(node instanceof HTMLFieldSetElement);
	const change = (next: SchemaField, ...more: HTMLElement[]) => {
		field = next;
		place.replaceChildren(next.node, ...more);
	};
	const readAll = (from: SchemaField): Record<string, unknown> => {
		const text = isJson(from) ? from.node.querySelector('textarea')?.value : JSON.stringify(from.read());
		return parseField(say('Arguments'), text ?? '');
	};
	// Make the fields only when a person opens them for the first time.
	root.addEventListener('toggle', () => {
		if (!root.open || field !== undefined) return;
		const fields = createSchemaField(schema, title, input);
		const toJson = button('action', say('Write JSON'), () => {
			const value = tryToRead(mistake, () => readAll(fields)) ?? input;
			change(createSchemaField({}, title, value));
		});
		change(fields, ...(isJson(fields) ? [] : [toJson]));
	});
	// Open the fields if one has an error, because a hidden field cannot show its error.
	root.addEventListener('invalid', () => root.toggleAttribute('open', true), true);
	return {
		root,
		/** Returns the arguments, if a person has changed them. */
		read(): { readonly input?: Record<string, unknown> } {
			const value = field === undefined ? input : readAll(field);
			return isSame(value, input) ? {} : { input: value };
		},
		showMistake(): void {
			root.open = true;
			place.querySelector('textarea')?.focus();
		},
	};
}

function createResult(name: string, schema: unknown, mistake: HTMLElement) {
	const field = createSchemaField(schema, say('Result of {name}', { name }));
	return {
		root: element('div', 'result-fields', field.node, mistake),
		read: (): { readonly output: unknown } => ({ output: field.read() ?? '' }),
	};
}

/** Shows the tool and its exact arguments. Highlights arguments that would leave. */
function describeCall(name: string, input: unknown, leaves: boolean): HTMLElement[] {
	const kind = leaves ? 'leaves' : '';
	const short = showSigns(JSON.stringify(input) ?? '');
	if (short.length <= shortInput) return [element('p', '', element('b', '', name), ' ', element('code', kind, short))];
	return [
		element('p', '', element('b', '', name)),
		element('pre', `input ${kind}`, showSigns(JSON.stringify(input, undefined, 2))),
	];
}

/** Shows what a call would do. */
function createPreview(preview: string): HTMLElement {
	const text = showSigns(preview);
	const shown = /^(?:diff |--- |@@)/m.test(text) ? createDiff(text) : element('pre', '', text);
	shown.classList.add('input');
	return configure(shown, { ariaLabel: say('What it would do') });
}

/** Shows why a call is asked about: where it would send to, what strangers wrote, and what is private. */
function describeFlow({ targets, outside, private: own }: NonNullable<WaitingCall['flow']>): HTMLElement {
	const list = (label: string, texts: readonly string[]) => [
		element('dt', '', label),
		...texts.map((text) => element('dd', '', showSigns(text))),
	];
	return element(
		'dl',
		'flow',
		...list(say('Would send the above to'), targets.length > 0 ? targets : [say('an unknown place')]),
		...list(
			say('Strangers may have written'),
			outside.map(({ what }) => what),
		),
		...list(
			say('Private'),
			own.map(({ what }) => what),
		),
	);
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
