/** The palette (Ctrl+K or ⌘K): finds panels, agents, sessions and actions by their names, with the keyboard alone. */

import type { Client } from '../../client/index.ts';
import { toSessionAddress } from '../parts/address.ts';
import { configure, element } from '../parts/element.ts';
import { createPageIcon, type PageIconName } from '../parts/page-icon.ts';

/** Something that a person can choose. */
export interface Choice {
	readonly title: string;
	/** What stands behind the title. */
	readonly about?: string;
	/** Other words that find it. */
	readonly words?: string | undefined;
	readonly icon: PageIconName;
	readonly run: () => void;
}

export interface PaletteOptions {
	readonly client: Client;
	/** The actions that are possible now, and the panels. */
	readonly listActions: () => readonly Choice[];
	readonly listPanels: () => readonly Choice[];
	readonly onAgent: (name: string) => void;
}

/** Milliseconds after the last letter until the sessions are searched. */
const searchAfterMs = 200;
const mostSessions = 8;
const mostWords = 200;

interface Group {
	readonly title: string;
	readonly choices: readonly Choice[];
}

/** Adds the palette to the page. Returns what opens it. */
export function createPalette(options: PaletteOptions): () => void {
	const { client, listActions, listPanels } = options;
	const list = configure(element('div', 'palette-list'), { id: 'palette-list', role: 'listbox', ariaLabel: 'Results' });
	const field = configure(element('input', 'palette-field'), { type: 'text', role: 'combobox', autocomplete: 'off' });
	configure(field, { placeholder: 'Search panels, agents, sessions and actions', ariaLabel: 'Search everything' });
	configure(field, { ariaExpanded: 'true', ariaAutoComplete: 'list', spellcheck: false });
	field.setAttribute('aria-controls', list.id);
	const none = configure(element('p', 'palette-none', 'Nothing was found.'), { hidden: true });
	const status = configure(element('p', 'visually-hidden'), { role: 'status' });
	const head = element('div', 'palette-head', createPageIcon('search'), field);
	const dialog = configure(element('dialog', '', head, list, none, status), { id: 'palette', ariaLabel: 'Search' });
	document.body.append(dialog);
	const results = createResults(field, list, (choice) => {
		dialog.close();
		choice.run();
	});
	let agents: readonly Choice[] = [];
	let sessions: readonly Choice[] = [];
	let searched = '';
	let reading = new AbortController();
	let timer: ReturnType<typeof setTimeout> | undefined;

	function show(): void {
		const choose = createFilter(field.value);
		const count = results.show([
			{ title: 'Actions', choices: choose(listActions()) },
			{ title: 'Go to', choices: choose(listPanels()) },
			{ title: 'New chat with', choices: choose(agents) },
			// Until the search has an answer, the list has those of the text before.
			{ title: 'Sessions', choices: field.value === searched ? sessions : choose(sessions) },
		]);
		none.hidden = count > 0;
		status.textContent = count === 1 ? 'One result' : `${count} results`;
	}

	/** Searches the sessions. One request answers the newest text. */
	async function search(): Promise<void> {
		reading.abort();
		reading = new AbortController();
		const { signal } = reading;
		const text = field.value;
		const q = text.trim().slice(0, mostWords) || undefined;
		const page = await client.listSessions({ q, limit: mostSessions, signal }).catch(() => undefined);
		if (signal.aborted || page === undefined) return;
		searched = text;
		sessions = page.sessions.map(({ id, title = 'No message yet', agent }) => ({
			...{ title, about: agent, icon: 'bubble' as const },
			run: () => {
				location.hash = toSessionAddress(id);
			},
		}));
		show();
	}

	async function readAgents(): Promise<void> {
		const { signal } = reading;
		const found = await client.listAgents({ signal }).catch(() => []);
		agents = found.map(({ name, description }) => ({
			...{ title: name, about: description, icon: 'bot' as const },
			run: () => options.onAgent(name),
		}));
		if (dialog.open) show();
	}

	field.addEventListener('input', () => {
		show();
		clearTimeout(timer);
		timer = setTimeout(() => void search(), searchAfterMs);
	});
	dialog.addEventListener('keydown', results.onKey);
	dialog.addEventListener('click', ({ target }) => {
		if (target === dialog) dialog.close();
	});
	dialog.addEventListener('close', () => {
		clearTimeout(timer);
		reading.abort();
	});

	return () => {
		if (dialog.open) return dialog.close();
		field.value = '';
		sessions = [];
		dialog.showModal();
		show();
		void search();
		if (agents.length === 0) void readAgents();
	};
}

/** Returns what keeps the choices that have all words of a text: first those that have them in their name. */
function createFilter(text: string): (choices: readonly Choice[]) => readonly Choice[] {
	const wanted = text
		.toLowerCase()
		.split(/[\s:]+/)
		.filter(Boolean);
	const isIn = (...texts: readonly string[]): boolean =>
		wanted.every((word) => texts.join(' ').toLowerCase().includes(word));
	return (choices) => {
		const found = choices.filter(({ title, words = '', about = '' }) => isIn(title, words, about));
		const isNamed = ({ title, words = '' }: Choice): boolean => isIn(title, words);
		return [...found.filter(isNamed), ...found.filter((one) => !isNamed(one))];
	};
}

/** The results in the list. The focus stays in the field, which points at the marked result. */
function createResults(field: HTMLElement, list: HTMLElement, onChoice: (choice: Choice) => void) {
	let shown: readonly Choice[] = [];
	let at = 0;

	function createOption({ title, about, icon }: Choice, index: number): HTMLElement {
		const small = about === undefined ? undefined : element('span', 'about', about);
		const option = element('div', 'palette-option', createPageIcon(icon), element('span', 'title', title), small);
		configure(option, { id: `palette-${index}`, role: 'option' });
		option.addEventListener('pointermove', () => at !== index && mark(index));
		option.addEventListener('click', () => choose(index));
		return option;
	}

	function mark(next: number): void {
		at = next;
		for (const [index, option] of list.querySelectorAll('[role=option]').entries()) {
			option.ariaSelected = `${index === at}`;
			if (index === at) option.scrollIntoView({ block: 'nearest' });
		}
		if (shown.length === 0) field.removeAttribute('aria-activedescendant');
		else field.setAttribute('aria-activedescendant', `palette-${at}`);
	}

	function choose(index: number): void {
		const choice = shown[index];
		if (choice !== undefined) onChoice(choice);
	}

	return {
		/** Shows the groups that have results, and marks the first result. Returns the number of results. */
		show(groups: readonly Group[]): number {
			shown = groups.flatMap(({ choices }) => choices);
			let count = 0;
			const full = groups.filter(({ choices }) => choices.length > 0);
			const nodes = full.map(({ title, choices }) => {
				const group = configure(element('div', 'palette-group'), { role: 'group', ariaLabel: title });
				group.append(configure(element('p', 'palette-title', title), { ariaHidden: 'true' }));
				group.append(...choices.map((choice) => createOption(choice, count++)));
				return group;
			});
			list.replaceChildren(...nodes);
			mark(0);
			return count;
		},
		onKey(event: KeyboardEvent): void {
			const { length } = shown;
			const moves: Readonly<Record<string, number>> = { ArrowDown: at + 1, ArrowUp: at - 1 };
			const to = moves[event.key];
			if (event.isComposing || (event.key !== 'Enter' && to === undefined)) return;
			event.preventDefault();
			if (to === undefined) choose(at);
			else if (length > 0) mark((to + length) % length);
		},
	};
}
