/** The module `runlet/cloudflare/links` (docs/people.md). */

import * as v from 'valibot';
import { check } from '../../core/base/check.ts';
import { type Agent, blameAgent } from '../agent/define.ts';
import type { Plugin } from '../plugin.ts';
import { Decisions } from './decisions.ts';
import { createCallbackLinks } from './make.ts';
import { linkRoutes } from './routes.ts';

/** Links for decisions about calls, and the callback of a run that begins to wait. */
export const links: Plugin = {
	name: 'links',
	provides: { links: { open: (session) => new Decisions(session), createForCallback: createCallbackLinks } },
	assertAgents: (agents) => agents.forEach(assertWaiting),
	listRoutes: () => linkRoutes,
};

const schema = v.object({
	onWaiting: v.optional(
		v.strictObject({
			callback: v.pipe(v.string(), v.url('must be a URL'), v.maxLength(2_048)),
			links: v.optional(v.boolean('must be true or false')),
			for: v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(200))),
		}),
	),
});

function assertWaiting({ name, onWaiting }: Agent): void {
	blameAgent(name, () => check(schema, { onWaiting }, 'agent', 'invalid_agent'));
}
