import { Hono } from 'hono/tiny';
import type { Runtime } from '../agent/runtime.ts';
import { readConfig } from '../config/config.ts';
import { askDirectory } from '../objects/directory/api.ts';
import type { WaitingEntry } from '../objects/directory/wait.ts';
import type { approval } from '../wire/approval.ts';
import { listApprovals } from '../wire/operations/approvals.ts';
import type { Shown } from '../wire/shown.ts';
import { getOwner, type RouteEnv } from './identity.ts';
import { serveOperation } from './operation.ts';
import { refuseMethod } from './request.ts';

/** `/v1/approvals`: what waits for a person in all sessions of an owner (docs/people.md). */
export function approvalsRoute({ agents }: Pick<Runtime, 'agents'>) {
	return new Hono<RouteEnv>()
		.get('/', serveOperation(listApprovals), async (c) => {
			const { directories } = readConfig(c.env);
			const page = c.req.valid('query');
			const { entries, cursor } = await askDirectory(directories, getOwner(c), (one) => one.listWaiting(page));
			const toExpiry = ({ agent, kind, since }: WaitingEntry): string | undefined => {
				const limit = agents.find(({ name }) => name === agent)?.approvalMs;
				return kind === 'approval' && limit !== undefined ? new Date(since + limit).toISOString() : undefined;
			};
			return c.json({ approvals: entries.map((entry) => toShown(entry, toExpiry(entry))), cursor });
		})
		.all('/', refuseMethod('GET'));
}

function toShown(entry: WaitingEntry, expiresAt: string | undefined): Shown<typeof approval> {
	const { session: sessionId, place: _, since, ...rest } = entry;
	return { sessionId, ...rest, since: new Date(since).toISOString(), expiresAt };
}
