/** The fields of a call that waits: other arguments than the model's, or the result. */

import { ClientError } from '../../client/index.ts';
import { say } from '../../client/say.ts';
import { button, element } from './element.ts';
import { parseField } from './form.ts';
import { createSchemaField, isSame, type SchemaField } from './schema-form.ts';

/** Reads a field. If the field has an error, shows the error and returns undefined. */
export function tryToRead<T>(mistake: HTMLElement, read: () => T): T | undefined {
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
export function createEdit(
	name: string,
	input: Readonly<Record<string, unknown>>,
	schema: unknown,
	mistake: HTMLElement,
) {
	const title = say('Arguments of {name}', { name });
	const place = element('div', 'result-fields');
	const summary = element('summary', 'quiet-way', say('Change the arguments'));
	const root = element('details', 'edit', summary, place, mistake);
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

export function createResult(name: string, schema: unknown, mistake: HTMLElement) {
	const field = createSchemaField(schema, say('Result of {name}', { name }));
	return {
		root: element('div', 'result-fields', field.node, mistake),
		read: (): { readonly output: unknown } => ({ output: field.read() ?? '' }),
	};
}
