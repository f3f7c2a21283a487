import type { Runtime } from '../agent/runtime.ts';
import { readConfig } from '../config/config.ts';
import { askDirectory, type DirectoryNamespace } from '../objects/directory/api.ts';
import { createWaitingCursor, type WaitingEntry, type WaitingQuery } from '../objects/directory/wait.ts';
import type { approval } from '../wire/approval.ts';
import type { Shown } from '../wire/operation.ts';
import { listApprovals } from '../wire/operations/sessions.ts';
import { getOwner } from './identity.ts';
import { mount } from './mount.ts';
import { findListedOwners } from './session-list.ts';

/** `/v1/approvals`: the calls that wait for a person in all sessions of an owner (docs/people.md). */
export function createApprovalRoutes({ agents }: Pick<Runtime, 'agents'>) {
	return [
		mount(listApprovals, async (c) => {
			const { directories } = readConfig(c.env);
			const { owner: asked, ...page } = c.req.valid('query');
			const owners = asked === undefined ? [getOwner(c)] : await findListedOwners(c, asked);
			const { entries, cursor } = await listWaiting(directories, owners, page);
			const toExpiry = ({ agent, kind, since }: WaitingEntry): string | undefined => {
				const limit = agents.find(({ name }) => name === agent)?.approvalMs;
				return kind === 'approval' && limit !== undefined ? new Date(since + limit).toISOString() : undefined;
			};
			const named = asked === undefined ? entries.map(({ owner: _, ...entry }) => entry) : entries;
			return c.json({ approvals: named.map((entry) => toShown(entry, toExpiry(entry))), cursor });
		}),
	];
}

type Entry = WaitingEntry & { readonly owner?: string };

/** How many directories are asked in parallel. */
const atOnce = 16;

/** Lists the waiting calls in the sessions of owners, the oldest first. */
async function listWaiting(directories: DirectoryNamespace, owners: readonly string[], page: WaitingQuery) {
	const found: (WaitingEntry & { readonly owner: string })[] = [];
	let isCut = false;
	for (let from = 0; from < owners.length; from += atOnce) {
		const asked = owners.slice(from, from + atOnce).map(async (owner) => {
			const { entries, cursor } = await askDirectory(directories, owner, (one) => one.listWaiting(page));
			isCut ||= cursor !== undefined;
			found.push(...entries.map((entry) => ({ ...entry, owner })));
		});
		await Promise.all(asked);
	}
	found.sort(
		(a, b) => a.since - b.since || (a.session === b.session ? a.place - b.place : a.session < b.session ? -1 : 1),
	);
	const entries = found.slice(0, page.limit);
	const last = entries.at(-1);
	const hasMore = isCut || found.length > entries.length;
	return { entries, cursor: hasMore && last !== undefined ? createWaitingCursor(last) : undefined };
}

function toShown(entry: Entry, expiresAt: string | undefined): Shown<typeof approval> {
	const { session: sessionId, place: _, since, ...rest } = entry;
	return { sessionId, ...rest, since: new Date(since).toISOString(), expiresAt };
}
