/** The module `runlet/cloudflare/files` (docs/files.md, "Files by id"). */

import type { Plugin } from '../plugin.ts';
import { refusalResponse } from '../wire/protocols/openai/error.ts';
import { fillFiles } from './fill.ts';
import { changeUploads, listAllUploads } from './holder.ts';
import { uploadRoutes } from './routes.ts';
import { OwnerUploads } from './store.ts';

/** `/v1/files`: files that people upload once, and name by their ids in later requests. */
export const files: Plugin = {
	name: 'files',
	provides: {
		uploads: {
			open: (options) => new OwnerUploads(options),
			fill: fillFiles,
			listAll: listAllUploads,
			erase: async (config, holder) => {
				await changeUploads(config, holder, (one) => one.removeUploads(holder.user));
			},
		},
	},
	listRoutes: () => uploadRoutes,
	failures: { path: /^\/v1\/files(\/|$)/, toResponse: refusalResponse },
};
