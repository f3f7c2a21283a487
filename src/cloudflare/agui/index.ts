/** The module `runlet/cloudflare/agui` (docs/ag-ui.md). */

import type { Plugin } from '../plugin.ts';
import { createAguiRoutes } from './routes.ts';

/** AG-UI: agents for the clients of AG-UI, such as CopilotKit. */
export const agui: Plugin = {
	name: 'agui',
	provides: {},
	listRoutes: createAguiRoutes,
};
