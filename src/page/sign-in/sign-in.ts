/** The form for an API key or a session token. It covers the page until the server accepts what a person enters. */

import { readError } from '../../client/error.ts';
import { ClientError, type Me } from '../../client/index.ts';
import { button, configure, element, find, onSubmit } from '../parts/element.ts';
import { createField } from '../parts/form.ts';
import { keepKey, readKey } from './key.ts';

interface Options {
	/** Asks the server whose key this is. */
	readonly check: (key: string) => Promise<Me>;
	/** Called when the server has accepted a key. */
	readonly onSignedIn: (me: Me) => void;
}

export function createSignIn({ check, onSignedIn }: Options) {
	const root = find('#sign-in', HTMLDialogElement);
	const field = configure(element('input', 'line'), { type: 'password', autocomplete: 'off', required: true });
	configure(field, { placeholder: 'rl_… or rls_…', name: 'key' });
	const send = element('button', 'primary', 'Sign in');
	const cancel = button('quiet', 'Cancel', () => root.close());
	const about = element('p', 'about');
	const mistake = configure(element('p', 'mistake'), { role: 'alert' });
	const form = element(
		'form',
		'',
		createField('API key or session token', field),
		mistake,
		element('div', 'form-end', send, cancel),
	);
	/** Whether the page can be used without another key. */
	let mayCancel = false;
	root.append(about, form, createNotes());
	root.addEventListener('cancel', (event) => {
		if (!mayCancel) event.preventDefault();
	});
	onSubmit(form, () => void signIn());

	async function signIn(): Promise<void> {
		const key = field.value.trim();
		show('');
		send.disabled = true;
		try {
			assertHeader(key);
			const me = await check(key);
			keepKey(key);
			field.value = '';
			root.close();
			onSignedIn(me);
		} catch (error) {
			show(describe(error));
			field.select();
			field.focus();
		}
		send.disabled = false;
	}

	function show(words: string): void {
		mistake.textContent = words;
		mistake.hidden = words === '';
		field.setAttribute('aria-invalid', `${words !== ''}`);
	}

	function open(words: string, isChange: boolean): void {
		if (root.open) return;
		mayCancel = isChange;
		cancel.hidden = !isChange;
		show(isChange ? '' : words);
		about.textContent = isChange
			? 'The page then has the rights of the other key.'
			: 'This server wants to know who you are.';
		root.showModal();
		field.focus();
	}

	return {
		/** Asks for a key, because the server has refused the request. Does nothing while the form is open. */
		ask: (error: unknown): void => open(readKey() === undefined ? '' : describe(error), false),
		/** Lets a person enter another key. */
		change: (): void => open('', true),
	};
}

/** Returns a `fetch` that calls `onRefusal` when the server refuses the key that the page has now. */
export function watchRefusals(ask: typeof fetch, onRefusal: (error: ClientError) => void): typeof fetch {
	return async (input, init) => {
		const key = readKey();
		const response = await ask(input, init);
		if (response.status === 401 && key === readKey()) onRefusal(await readError(response.clone()));
		return response;
	};
}

/** Throws a `ClientError` for a text that no header can have. */
function assertHeader(key: string): void {
	if (/^[\x21-\x7e]+$/.test(key)) return;
	throw new ClientError('invalid_key', 'A key has letters, digits, _ and - only, without spaces.', { status: 400 });
}

function describe(error: unknown): string {
	if (!(error instanceof ClientError)) return 'The page met an error of its own. A reload may help.';
	if (error.code === 'unreachable') return 'The server does not answer. Is it running, and is this device online?';
	// The rest of the message is for programs.
	const words = error.message.replace(/^Authorization: /, '').replace(/(?<=\.) .*/s, '');
	return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function createNotes(): HTMLElement {
	return element(
		'div',
		'notes',
		element(
			'p',
			'',
			'A key opens the sessions of its owner, a session token opens one session. This tab keeps it until it is closed.',
		),
		element('p', '', 'Have you an account here? Sign in there, and reload this page.'),
		element('p', '', 'No key yet? Whoever runs this server makes one: ', element('code', '', 'npm run keys -- make')),
	);
}
