/** What each role may do. */

import { createTable, element } from '../../parts/element.ts';
import type { Viewer } from '../../parts/viewer.ts';
import { createPart } from './part.ts';

/** What a role may do beyond the roles before it (docs/keys.md, "Roles"). */
const roles = {
	customer: 'Own sessions only: chats, answers questions, sends files.',
	staff:
		'All sessions of the owner: the inbox, approvals, feedback, traces, exports, schedules, tokens, spending and memories.',
	admin: 'Budgets, people and memories, imports, the owner’s tools and MCP servers.',
} as const;

export function createRoles({ me }: Viewer): HTMLElement {
	const rows = Object.entries(roles).map(([role, may]) => {
		const own = role === me?.role ? element('small', 'about', ' you') : undefined;
		return element('tr', '', element('th', '', role, own), element('td', '', may));
	});
	return createPart(
		'Roles',
		'Each role also has what the roles above it have.',
		createTable('roles', ['Role', 'May'], rows),
	);
}
