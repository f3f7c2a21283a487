/** The foot of the menu: who one is, the theme, another key, and the way out. */

import type { Me } from '../../client/index.ts';
import { button, configure, element, find, link } from '../parts/element.ts';
import { createIcon } from '../parts/icon.ts';
import { keepTheme, readTheme, type Theme, themes } from '../parts/theme.ts';
import { describeAge } from '../parts/time.ts';
import type { Viewer } from '../parts/viewer.ts';
import { icons } from './icons.ts';

interface Options {
	readonly viewer: Viewer;
	/** Where an account signs out, if the page knows it. */
	readonly signOutUrl: string;
	readonly onChange: () => void;
	readonly onSignOut: () => void;
}

export function createFoot({ viewer, signOutUrl, onChange, onSignOut }: Options) {
	const root = find('#foot', HTMLElement);
	const panel = configure(element('div'), { id: 'who-menu', popover: 'auto' });
	const opener = configure(
		button('', '', () => {}),
		{ id: 'who', popoverTargetElement: panel },
	);
	root.replaceChildren(opener, panel);

	function createActions({ kind }: Me): HTMLElement[] {
		const change = button('', kind === 'local' ? 'Use a key…' : 'Use another key…', () => {
			panel.hidePopover();
			onChange();
		});
		change.prepend(createIcon(icons.key));
		if (kind === 'local') return [change];
		if (kind === 'account')
			return signOutUrl === '' ? [change] : [change, createWayOut(link('', signOutUrl, 'Sign out'))];
		return [change, createWayOut(button('', 'Sign out', onSignOut))];
	}

	return {
		/** Shows who looks at the page. Shows nothing until that is known. */
		show(): void {
			const { me } = viewer;
			root.hidden = me === undefined;
			if (me === undefined) return;
			const name = describeName(me);
			const mark = element('span', 'face', kindIcon(me) ?? name.trim().charAt(0).toUpperCase());
			const about = element('span', 'who-about', element('b', '', name), element('span', 'about', describeRole(me)));
			opener.replaceChildren(mark, about, createIcon(icons.more));
			panel.replaceChildren(createFacts(me), createThemeChoice(), element('div', 'who-actions', ...createActions(me)));
		},
	};
}

function createWayOut(node: HTMLElement): HTMLElement {
	node.prepend(createIcon(icons.leave));
	return node;
}

function kindIcon({ kind, user }: Me): SVGSVGElement | undefined {
	if (kind === 'local') return createIcon(icons.machine);
	return kind === 'token' && user === undefined ? createIcon(icons.key) : undefined;
}

function describeName({ kind, user, name, owner }: Me): string {
	if (kind === 'local') return 'This machine';
	return user ?? name ?? (kind === 'token' ? 'Guest' : owner);
}

function describeRole({ kind, role, owner, scopes }: Me): string {
	if (kind === 'local') return 'May do all';
	if (kind === 'token') return scopes.includes('message') ? 'One session' : 'One session, to read';
	return role === undefined ? owner : `${owner} · ${role}`;
}

const kinds = {
	key: 'API key',
	account: 'Account',
	token: 'Session token',
	local: 'This machine, without a key',
} as const;

function createFacts({ kind, id, name, owner, user, role, scopes, expiresAt }: Me): HTMLElement {
	const isKey = kind === 'key' || kind === 'token';
	const facts: readonly (readonly [string, string | undefined])[] = [
		['Signed in by', kinds[kind]],
		['Owner', kind === 'local' ? undefined : owner],
		['User', user],
		['Role', kind === 'local' ? undefined : role],
		[kind === 'token' ? 'Token' : 'Key', isKey ? (name ?? id) : undefined],
		[kind === 'token' ? 'May' : 'Scopes', kind === 'local' || scopes.join() === 'run' ? undefined : scopes.join(', ')],
		['Ends', expiresAt && describeAge(expiresAt)],
	];
	const rows = facts.flatMap(([term, value]) => (value ? [element('dt', '', term), element('dd', '', value)] : []));
	return element('dl', 'who-facts', ...rows);
}

const themeWords: Readonly<Record<Theme, string>> = { light: 'Light', dark: 'Dark', system: 'System' };

function createThemeChoice(): HTMLElement {
	const choices = themes.map((theme) => {
		const field = configure(element('input'), { type: 'radio', name: 'theme', value: theme });
		field.checked = readTheme() === theme;
		field.addEventListener('change', () => keepTheme(theme));
		return element('label', '', field, createIcon(icons[theme]), element('span', '', themeWords[theme]));
	});
	return element('fieldset', 'themes', element('legend', 'visually-hidden', 'Theme'), ...choices);
}
