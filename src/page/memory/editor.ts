import { ClientError, type Memory } from '../../client/index.ts';
import { button, element } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import type { Place } from '../parts/panel.ts';

/** Whose memories a panel shows. */
export interface Whose extends Pick<Place, 'client' | 'signal' | 'again'> {
	readonly holder: { readonly user?: string };
}

interface Outcome {
	readonly onSaved: (memory: Memory) => void;
	/** Called when the person leaves it without a change. */
	readonly onLeft: () => void;
}

/**
 * Makes the form that changes a memory, or writes a new one. What somebody else has changed meanwhile is shown, and nothing
 * is replaced before the person has seen it.
 */
export function createEditor(memory: Memory | undefined, whose: Whose, { onSaved, onLeft }: Outcome): HTMLFormElement {
	const { client, signal, holder } = whose;
	const path = element('input');
	path.required = true;
	path.placeholder = 'preferences.md';
	path.setAttribute('aria-label', 'Path');
	path.value = memory?.path ?? '';
	path.readOnly = memory !== undefined;
	const text = element('textarea');
	text.required = true;
	text.rows = 4;
	text.setAttribute('aria-label', 'Text');
	text.value = memory?.text ?? '';
	const keep = element('button', 'retry yes', 'Save');
	const said = element('div');
	const form = element('form', 'card-form', path, text, said, keep, button('retry', 'Cancel', onLeft));
	form.setAttribute('aria-label', memory === undefined ? 'A new memory' : `Change ${memory.path}`);
	let known = memory;

	async function write(): Promise<void> {
		keep.disabled = true;
		const condition = known === undefined ? { isNew: true } : { version: known.version };
		try {
			onSaved(await client.putMemory(path.value.trim(), text.value, { ...holder, ...condition, signal }));
		} catch (error) {
			if (signal.aborted) return;
			if (!(error instanceof ClientError && error.code === 'precondition_failed'))
				said.replaceChildren(createFailure(error, () => void write()));
			else await tellOther();
		}
		keep.disabled = false;
	}

	/** Shows what stands at the path now. The next save replaces just that. */
	async function tellOther(): Promise<void> {
		try {
			known = await client.getMemory(path.value.trim(), { ...holder, signal });
			path.readOnly = true;
			const now = element('p', 'card-text', known.text);
			said.replaceChildren(element('div', 'failure', 'Somebody has written this meanwhile. Save replaces it:', now));
		} catch (error) {
			if (signal.aborted) return;
			const isGone = error instanceof ClientError && error.code === 'not_found';
			if (isGone) known = undefined;
			said.replaceChildren(
				isGone
					? element('div', 'failure', 'Somebody has removed it meanwhile. Save writes it anew.')
					: createFailure(error, () => void tellOther()),
			);
		}
		said.firstElementChild?.setAttribute('role', 'alert');
	}

	form.addEventListener('submit', (event) => {
		event.preventDefault();
		void write();
	});
	form.addEventListener('keydown', ({ key }) => {
		if (key === 'Escape') onLeft();
	});
	return form;
}
