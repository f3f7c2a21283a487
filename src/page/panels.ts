/** The list of panels, and the view that shows one of them. */

import { agents } from './panels/agents.ts';
import { feedback } from './panels/feedback.ts';
import { inbox } from './panels/inbox.ts';
import { memory } from './panels/memory.ts';
import { runs } from './panels/runs.ts';
import { schedules } from './panels/schedules.ts';
import { servers } from './panels/servers.ts';
import { sessions } from './panels/sessions.ts';
import { skills } from './panels/skills.ts';
import { spending } from './panels/spending.ts';
import { team } from './panels/team.ts';
import { tools } from './panels/tools.ts';
import { element } from './parts/element.ts';
import { createFailure } from './parts/failure.ts';
import type { Panel, Place } from './parts/panel.ts';
import type { Viewer } from './parts/viewer.ts';

/** The panels, in the order of the menu. */
const panels: readonly Panel[] = [
	inbox,
	feedback,
	sessions,
	runs,
	memory,
	schedules,
	agents,
	skills,
	tools,
	servers,
	spending,
	team,
];

/** Lists the panels that a person may see. The token of a session opens none. */
export function listPanels({ me, may }: Viewer): readonly Panel[] {
	return me?.kind === 'token' ? [] : panels.filter(({ right = 'seeAgents' }) => may(right));
}

/** Shows one panel at a time in `root`. Calls `onChange` when a panel is shown, or has changed the menu's data. */
export function createPanelView(
	root: HTMLElement,
	{ client, viewer }: Pick<Place, 'client' | 'viewer'>,
	onChange: () => void,
) {
	let visit = new AbortController();
	let listener: (() => Promise<void>) | undefined;

	function open(panel: Panel): void {
		visit.abort();
		visit = new AbortController();
		const { signal } = visit;
		const body = element('div', 'panel-body');
		const head = element('h2', '', panel.title);
		head.tabIndex = -1;
		const isShown = root.dataset.panel === panel.name;
		root.dataset.panel = panel.name;
		root.replaceChildren(element('header', 'panel-head', head, element('p', 'about', panel.about)), body);
		root.hidden = false;
		root.ariaBusy = 'true';
		// The keyboard focus moves to the panel.
		if (!isShown) head.focus({ preventScroll: true });
		/** The control that had the focus is gone after an action, so the heading gets the focus. */
		const again = () => {
			open(panel);
			root.querySelector('h2')?.focus();
		};
		listener = undefined;
		const onNews = (newest: () => Promise<void>) => {
			if (!signal.aborted) listener = newest;
		};
		panel
			.open(body, { client, viewer, signal, again, onNews, changed: onChange })
			.then(onChange)
			.catch((error: unknown) => {
				if (!signal.aborted) body.replaceChildren(createFailure(error, again));
			})
			.finally(() => {
				if (!signal.aborted) root.ariaBusy = null;
			});
	}

	return {
		open,
		/** Updates the panel with changes from elsewhere. If the changes cannot be read, the panel stays unchanged. */
		look(): void {
			listener?.().catch(() => {});
		},
		close(): void {
			visit.abort();
			listener = undefined;
			root.hidden = true;
			delete root.dataset.panel;
			root.replaceChildren();
		},
	};
}
