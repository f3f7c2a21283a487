/** `<runlet-chat>`: a chat with an agent, in a page of somebody else (docs/embed.md). */

import { isRecord } from '../../client/record.ts';
import { replaceWords } from '../../client/say.ts';
import type { GetToken } from './door.ts';
import { attributes, readSettings } from './settings.ts';
import { createWidget, type Events, type Widget } from './widget.ts';

/** The styles of the element, which the build puts here. */
declare const EMBED_STYLES: string;

// A policy without inline styles lets a sheet through that a script has made.
const styles = new CSSStyleSheet();
styles.replaceSync(EMBED_STYLES);

/** The properties that a page can set before this script has run. */
const properties = ['getToken', 'texts'] as const;

class RunletChat extends HTMLElement {
	static readonly observedAttributes = [...attributes, 'texts', 'open'];
	readonly #root = this.attachShadow({ mode: 'open' });
	#getToken: GetToken | undefined;
	#widget: Widget | undefined;
	#isPlanned = false;

	constructor() {
		super();
		this.#root.adoptedStyleSheets = [styles];
	}

	/** Returns the token of a session, or of a new one. Called when there is no token, or when it has expired. */
	get getToken(): GetToken | undefined {
		return this.#getToken;
	}

	set getToken(getToken: GetToken | undefined) {
		this.#getToken = getToken;
		this.#plan();
	}

	/** Other words for the English ones. They hold for all chats of the page. */
	set texts(texts: Readonly<Record<string, string>>) {
		replaceWords(texts);
		this.#plan();
	}

	connectedCallback(): void {
		for (const name of properties) {
			if (!Object.hasOwn(this, name)) continue;
			const value: unknown = Reflect.get(this, name);
			Reflect.deleteProperty(this, name);
			Reflect.set(this, name, value);
		}
		this.#root.addEventListener('keydown', this.#onKey);
		this.#plan();
	}

	disconnectedCallback(): void {
		this.#widget?.close();
		this.#widget = undefined;
		this.#root.removeEventListener('keydown', this.#onKey);
		this.#root.replaceChildren();
	}

	attributeChangedCallback(name: string, before: string | null, now: string | null): void {
		if (before === now) return;
		if (name === 'texts') this.#readTexts(now ?? '{}');
		else if (name === 'open') this.#moveFocus();
		else this.#plan();
	}

	/** Begins a new chat. The one before goes on at the server. */
	startNew(): void {
		this.#widget?.startNew();
	}

	#readTexts(json: string): void {
		const texts: unknown = JSON.parse(json);
		if (!isRecord(texts)) throw new SyntaxError('runlet-chat: texts: write a JSON object of texts.');
		this.texts = Object.fromEntries(Object.entries(texts).map(([english, words]) => [english, String(words)]));
	}

	/** Makes the chat anew, once for all attributes that change together. */
	#plan(): void {
		if (this.#isPlanned) return;
		this.#isPlanned = true;
		queueMicrotask(() => {
			this.#isPlanned = false;
			if (!this.isConnected) return;
			this.#widget?.close();
			const toggle = (): void => void this.toggleAttribute('open');
			this.#widget = createWidget(this.#root, readSettings(this, this.#getToken), this.#tell, toggle);
			this.#showOpen();
		});
	}

	get #isShown(): boolean {
		return !this.hasAttribute('popup') || this.hasAttribute('open');
	}

	#showOpen(): void {
		const { launcher } = this.#widget ?? {};
		if (launcher !== undefined) launcher.ariaExpanded = `${this.#isShown}`;
		if (this.#isShown) this.#widget?.open();
	}

	/** The chat gets the focus when it opens, and gives it back to the button. */
	#moveFocus(): void {
		this.#showOpen();
		const { launcher, text } = this.#widget ?? {};
		if (launcher !== undefined) (this.#isShown ? text : launcher)?.focus();
	}

	readonly #onKey = (event: Event): void => {
		const isEscape = event instanceof KeyboardEvent && event.key === 'Escape' && !event.defaultPrevented;
		// In the editor of a message Escape leaves the editor.
		const isElsewhere = event.target instanceof Element && event.target.closest('.editor, .note-form') !== null;
		if (isEscape && !isElsewhere && this.hasAttribute('popup')) this.removeAttribute('open');
	};

	readonly #tell = <Name extends keyof Events>(name: Name, detail: Events[Name]): void => {
		this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
	};
}

if (customElements.get('runlet-chat') === undefined) customElements.define('runlet-chat', RunletChat);
