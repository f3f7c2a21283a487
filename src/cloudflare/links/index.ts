/** What `import { links } from 'runlet/cloudflare/links'` gives: pass it as `createRunlet({ agents, links })` (docs/people.md). */

import type { Agent } from '../agent/define.ts';
import type { Route } from '../routes/mount.ts';
import type { LinkConnector } from '../session/inbox/link-connector.ts';
import { assertWaiting } from './assert.ts';
import { Decisions } from './decisions.ts';
import { createCallbackLinks } from './make.ts';
import { linkRoutes } from './routes.ts';

/** Links to decide about calls, and who is told when a run begins to wait, for `createRunlet({ links })`. */
export interface LinkSupport extends LinkConnector {
	/** Throws `invalid_agent`, which names the field, for an `onWaiting` that is misspelt. */
	assertWaiting(agent: Agent): void;
	/** `/v1/sessions/:id/links` and `/v1/decisions`. */
	readonly routes: readonly Route[];
}

export const links: LinkSupport = {
	assertWaiting,
	open: (session) => new Decisions(session),
	createForCallback: createCallbackLinks,
	routes: linkRoutes,
};
