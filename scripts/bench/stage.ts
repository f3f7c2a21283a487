import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v from 'valibot';
import { type Bundle, bundleWorker } from './bundle.ts';
import type { Subject } from './subjects.ts';
import { startWorkerd, type Workerd } from './workerd.ts';

/** What all parts share: a model in a process of its own, and a temporary folder. */
export interface Stage {
	/** Bundles the Worker of an entry. Each entry is bundled once. */
	readonly bundle: (entry: string) => Promise<Bundle>;
	/** Starts a subject in a workerd of its own, which ends with the stage. `isWeighed`: see `startWorkerd`. */
	readonly start: (subject: Pick<Subject, 'entry' | 'bind'>, isWeighed?: boolean) => Promise<Workerd>;
}

/** Sets up a stage for `work`, and removes it. */
export async function onStage<T>(work: (stage: Stage) => Promise<T>): Promise<T> {
	const folder = await mkdtemp(join(tmpdir(), 'runlet-bench-'));
	const model = fork(join(import.meta.dirname, 'model.ts'), { execArgv: ['--no-warnings'] });
	const bundles = new Map<string, Promise<Bundle>>();
	const bundle = (entry: string): Promise<Bundle> => {
		const known = bundles.get(entry) ?? bundleWorker(entry, join(folder, String(bundles.size)));
		bundles.set(entry, known);
		return known;
	};
	const servers: Workerd[] = [];
	try {
		const [modelUrl] = v.parse(v.looseTuple([v.string()]), await once(model, 'message'));
		const start: Stage['start'] = async ({ entry, bind }, isWeighed = false) => {
			const server = await startWorkerd(await bundle(entry), bind(modelUrl), isWeighed);
			servers.push(server);
			return server;
		};
		return await work({ bundle, start });
	} finally {
		model.disconnect();
		await Promise.all(servers.map((server) => server.close()));
		await rm(folder, { recursive: true, force: true });
	}
}
