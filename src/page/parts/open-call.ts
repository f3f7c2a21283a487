/** A call that waits for a person: a form for its result or for its approval. */

import { type Agent, type CallAnswer, ClientError, type WaitingCall } from '../../client/index.ts';
import { isRecord } from '../../client/record.ts';
import { button, element } from './element.ts';
import { createSchemaField, isSame, type SchemaField } from './schema-form.ts';

/** The most characters of arguments that are shown on the line of the call. */
const shortInput = 80;

/** `schema` is what the result of the tool is like, or the arguments of a call to be allowed, if that is known: these have fields then. */
export function createOpenCall(
	{ id, name, input, kind }: WaitingCall,
	onAnswer: (answer: CallAnswer) => void,
	schema?: unknown,
) {
	const isApproval = kind === 'approval';
	const result = isApproval || schema === undefined ? undefined : createResult(name, schema);
	const text = element('input', '');
	text.type = 'text';
	text.required = !isApproval && result === undefined;
	text.placeholder = isApproval ? 'Why not (if so)' : result ? 'Why it failed (if so)' : 'What came of it';
	const label = isApproval ? 'Reason to deny' : result ? 'Why it failed:' : 'Result of';
	text.setAttribute('aria-label', `${label} ${name}`);
	const yes = element('button', 'retry yes', isApproval ? 'Allow' : 'Done');
	const no = element('button', 'retry', isApproval ? 'Deny' : 'Failed');
	const edit = isApproval && isRecord(input) ? createEdit(name, input, schema) : undefined;
	const form = element(
		'form',
		'open-call',
		...describeCall(name, input),
		...(edit === undefined ? [] : [edit.shown]),
		...(result === undefined ? [] : [result.shown]),
		text,
		yes,
		no,
	);
	// A failed call has no result, and a denied call no arguments.
	no.formNoValidate = isApproval || result !== undefined;
	form.setAttribute('aria-label', `${name} waits`);
	form.dataset.todo = isApproval
		? `${name} waits: allow or deny it first.`
		: `${name} waits: say what came of it first.`;
	form.addEventListener('keydown', (event) => {
		// Enter would press the first button: writing a reason or arguments must not approve the call.
		if (!isApproval || event.key !== 'Enter' || !(event.target instanceof HTMLInputElement)) return;
		event.preventDefault();
		(event.target === text ? no : yes).focus();
	});
	form.addEventListener('submit', (event) => {
		event.preventDefault();
		const isYes = event.submitter !== no;
		const changed = isYes ? edit?.read() : undefined;
		if (changed?.mistake !== undefined) return;
		const given = isYes ? result?.read() : undefined;
		if (given?.mistake !== undefined) return;
		for (const control of form.querySelectorAll('input, select, textarea, button'))
			control.toggleAttribute('disabled', true);
		const reason = text.value === '' ? {} : { reason: text.value };
		if (!isApproval) onAnswer({ id, output: given === undefined ? text.value : given.output, isError: !isYes });
		else onAnswer(isYes ? { id, approve: true, ...changed } : { id, approve: false, ...reason });
	});
	return form;
}

const wholeMistake = 'Arguments: write a JSON object.';

/** Whether all arguments are one text of JSON. */
const isWhole = ({ node }: SchemaField): boolean => !(node instanceof HTMLFieldSetElement);

/**
 * Lets a person change the arguments of the model, in the fields of their schema or as JSON. Errors are shown there.
 */
function createEdit(name: string, input: Readonly<Record<string, unknown>>, schema: unknown) {
	const mistake = element('div', 'mistake');
	mistake.setAttribute('role', 'alert');
	const place = element('div', 'result-fields');
	const shown = element('details', 'edit', element('summary', 'edit-head', 'Change the arguments'), place, mistake);
	let field: SchemaField | undefined;
	const change = (next: SchemaField, ...more: HTMLElement[]) => {
		field = next;
		place.replaceChildren(next.node, ...more);
	};
	const showFields = () => {
		const fields = createSchemaField(schema, `Arguments of ${name}`, input);
		const toJson = button('action', 'Write JSON', () => {
			change(createSchemaField({}, `Arguments of ${name}`, readAll(fields) ?? input));
		});
		change(fields, ...(isWhole(fields) ? [] : [toJson]));
	};
	/** Reads the arguments, and shows their errors. */
	function readAll(from: SchemaField): Record<string, unknown> | undefined {
		mistake.textContent = '';
		try {
			const given = from.read();
			if (isRecord(given)) return given;
			mistake.textContent = wholeMistake;
		} catch (error) {
			if (!(error instanceof ClientError)) throw error;
			mistake.textContent = isWhole(from) ? wholeMistake : error.message;
		}
		return undefined;
	}
	shown.addEventListener('toggle', () => {
		if (shown.open && field === undefined) showFields();
	});
	// A hidden field cannot show its error.
	shown.addEventListener('invalid', () => shown.toggleAttribute('open', true), true);
	return {
		shown,
		/** Returns the arguments if they were changed. */
		read(): { readonly input?: Record<string, unknown>; readonly mistake?: string } {
			const given = field === undefined ? input : readAll(field);
			if (given !== undefined) return isSame(given, input) ? {} : { input: given };
			shown.open = true;
			place.querySelector('textarea')?.focus();
			return { mistake: mistake.textContent };
		},
	};
}

/** Lets a person write a result in the fields of its schema. */
function createResult(name: string, schema: unknown) {
	const field = createSchemaField(schema, `Result of ${name}`);
	const mistake = element('div', 'mistake');
	mistake.setAttribute('role', 'alert');
	return {
		shown: element('div', 'result-fields', field.node, mistake),
		read(): { readonly output?: unknown; readonly mistake?: string } {
			mistake.textContent = '';
			try {
				return { output: field.read() ?? '' };
			} catch (error) {
				if (!(error instanceof ClientError)) throw error;
				mistake.textContent = error.message;
				return { mistake: error.message };
			}
		},
	};
}

/** Shows the tool and its exact arguments. */
function describeCall(name: string, input: unknown): HTMLElement[] {
	const short = JSON.stringify(input) ?? '';
	if (short.length <= shortInput) return [element('p', '', element('b', '', name), ' ', element('code', '', short))];
	return [element('p', '', element('b', '', name)), element('pre', 'input', JSON.stringify(input, undefined, 2))];
}

/** Focuses the first call that waits for a person, if there is one. Returns an instruction. */
export function pointAtOpenCall(root: Element): string | undefined {
	const form = root.querySelector('.open-call:has(:is(input, select, textarea):enabled)');
	if (!(form instanceof HTMLElement)) return undefined;
	form.classList.add('pointed');
	form.scrollIntoView({ block: 'nearest' });
	return form.dataset.todo;
}

/** Finds the JSON Schema for a call: of its arguments for an approval, otherwise of its result. */
export type FindSchema = (call: Pick<WaitingCall, 'name' | 'kind'>, agent?: string) => unknown;

export function findCallSchema(
	agents: readonly Agent[],
	agent: string,
	{ name, kind }: Pick<WaitingCall, 'name' | 'kind'>,
): unknown {
	const tool = agents.find((one) => one.name === agent)?.tools.find((one) => one.name === name);
	return kind === 'approval' ? tool?.inputSchema : tool?.outputSchema;
}

interface KeptForms {
	/** Returns the kept form of a key, enabled again, or makes it. The key identifies all that the form asks. */
	take<Made extends HTMLElement | undefined>(key: string, make: () => Made): HTMLElement | Made;
	/** Drops a form that was sent, because the same may be asked again. Returns a function that keeps it again. */
	forget(form: HTMLElement): () => void;
	/** Forgets all of them. */
	clear(): void;
}

export function createKeptForms(): KeptForms {
	const forms = new Map<string, HTMLElement>();
	return {
		take(key, make) {
			const kept = forms.get(key);
			if (kept !== undefined) {
				for (const control of kept.querySelectorAll(':disabled')) control.toggleAttribute('disabled', false);
				return kept;
			}
			const made = make();
			if (made !== undefined) forms.set(key, made);
			return made;
		},
		forget(form) {
			const known = [...forms].filter(([, kept]) => kept === form);
			for (const [key] of known) forms.delete(key);
			return () => {
				for (const [key] of known) forms.set(key, form);
			};
		},
		clear: () => forms.clear(),
	};
}
