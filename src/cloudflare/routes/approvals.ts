import type { Runtime } from '../agent/runtime.ts';
import { readConfig } from '../config/config.ts';
import { type Directories, mergeEntries } from '../objects/directory/all.ts';
import { createWaitingCursor, type WaitingEntry, type WaitingQuery } from '../objects/directory/wait.ts';
import type { approval } from '../wire/approval.ts';
import { listApprovals } from '../wire/endpoints/sessions.ts';
import type { Shown } from '../wire/operation.ts';
import { getOwner } from './identity.ts';
import { mount } from './request.ts';
import { findListedOwners } from './session-list.ts';

/** `/v1/approvals`: the calls that wait for a person in all sessions of an owner (docs/people.md). */
export function createApprovalRoutes({ agents }: Pick<Runtime, 'agents'>) {
	return [
		mount(listApprovals, async (c) => {
			const { owner: requested, ...page } = c.req.valid('query');
			const owners = requested === undefined ? [getOwner(c)] : await findListedOwners(c, requested);
			const { entries, cursor } = await listWaiting(readConfig(c.env), owners, page);
			const toExpiry = ({ agent, kind, since }: WaitingEntry): string | undefined => {
				const limit = agents.find(({ name }) => name === agent)?.approvalMs;
				return kind === 'approval' && limit !== undefined ? new Date(since + limit).toISOString() : undefined;
			};
			const shown = requested === undefined ? entries.map(({ owner: _, ...entry }) => entry) : entries;
			return c.json({ approvals: shown.map((entry) => toShown(entry, toExpiry(entry))), cursor });
		}),
	];
}

type Entry = WaitingEntry & { readonly owner?: string };

async function listWaiting(all: Directories, owners: readonly string[], page: WaitingQuery) {
	const found = await mergeEntries(all, owners, {
		...page,
		ask: (directory) => directory.listWaiting(page),
		compare: (a, b) =>
			a.since - b.since || (a.session === b.session ? a.place - b.place : a.session < b.session ? -1 : 1),
	});
	return { entries: found.entries, cursor: found.next && createWaitingCursor(found.next) };
}

function toShown(entry: Entry, expiresAt: string | undefined): Shown<typeof approval> {
	const { session: sessionId, place: _, since, ...rest } = entry;
	return { sessionId, ...rest, since: new Date(since).toISOString(), expiresAt };
}
