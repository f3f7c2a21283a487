/** What `import { links } from 'runlet/cloudflare/links'` gives: `createRunlet({ agents, plugins: [links] })` (docs/people.md). */

import type { Plugin } from '../plugin.ts';
import { assertWaiting } from './assert.ts';
import { Decisions } from './decisions.ts';
import { createCallbackLinks } from './make.ts';
import { linkRoutes } from './routes.ts';

/** Links to decide about calls, and who is told when a run begins to wait. */
export const links: Plugin = {
	name: 'links',
	provides: { links: { open: (session) => new Decisions(session), createForCallback: createCallbackLinks } },
	assertAgents: (agents) => agents.forEach(assertWaiting),
	listRoutes: () => linkRoutes,
};
