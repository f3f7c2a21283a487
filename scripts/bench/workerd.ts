import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import * as v from 'valibot';
import { resolveInProject } from '../../src/command/project.ts';
import { findWrangler } from '../../src/command/wrangler.ts';
import type { Bundle } from './bundle.ts';

/** What a Worker is bound to. */
export interface Bindings {
	/** Classes of Durable Objects by the names of their bindings. */
	readonly objects?: Readonly<Record<string, string>>;
	readonly texts: Readonly<Record<string, string>>;
	/** Flags of V8, such as `--expose-gc`. */
	readonly v8Flags?: readonly string[] | undefined;
}

/** A workerd that serves one Worker, without anything of a development server around it. */
export interface Workerd {
	readonly url: string;
	readonly pid: number;
	/** Ends it. May be called again. */
	readonly close: () => Promise<void>;
}

/** The program, found through Miniflare as Wrangler does. */
const path = resolveInProject('workerd', resolveInProject('miniflare', findWrangler()));
const program = v.parse(v.object({ default: v.string() }), createRequire(path)(path)).default;

const listening = v.object({ event: v.literal('listen'), port: v.number() });

/** Starts a workerd. Its objects store on the disk, in a folder that goes with it. */
export async function startWorkerd(bundle: Bundle, bindings: Bindings): Promise<Workerd> {
	const folder = await mkdtemp(join(dirname(bundle.main), 'served-'));
	const config = join(folder, 'config.capnp');
	await writeFile(config, toConfig(bundle, bindings, folder));
	const child = spawn(program, ['serve', '--experimental', '--control-fd=3', config], {
		stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
	});
	const stop = () => child.kill('SIGKILL');
	process.on('exit', stop);
	const port = await readPort(child);
	return {
		url: `http://127.0.0.1:${port}`,
		pid: child.pid ?? 0,
		close: async () => {
			process.off('exit', stop);
			stop();
			if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
			await rm(folder, { recursive: true, force: true });
		},
	};
}

async function readPort(child: ChildProcess): Promise<number> {
	const control = child.stdio[3];
	if (!(control instanceof Readable)) throw new Error('workerd has no channel that says where it listens');
	for await (const line of createInterface({ input: control })) {
		const said = v.safeParse(listening, JSON.parse(line));
		if (said.success) return said.output.port;
	}
	throw new Error('workerd ended before it listened');
}

/** Writes the configuration (https://github.com/cloudflare/workerd/blob/main/src/workerd/server/workerd.capnp). */
function toConfig(
	{ main, date, flags }: Bundle,
	{ objects = {}, texts, v8Flags = [] }: Bindings,
	folder: string,
): string {
	const list = (items: readonly string[]) => `[${items.join(', ')}]`;
	const text = (value: string) => JSON.stringify(value);
	const classes = Object.values(objects);
	return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
	services = [
		(name = "main", worker = .main),
		(name = "internet", network = (allow = ["public", "private"])),
		(name = "disk", disk = (path = ${text(folder)}, writable = true)),
	],
	v8Flags = ${list(v8Flags.map(text))},
	sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const main :Workerd.Worker = (
	modules = [(name = ${text(basename(main))}, esModule = embed ${text(`../${basename(main)}`)})],
	compatibilityDate = ${text(date)},
	compatibilityFlags = ${list(flags.map(text))},
	bindings = ${list([
		...Object.entries(texts).map(([name, value]) => `(name = ${text(name)}, text = ${text(value)})`),
		...Object.entries(objects).map(([name, of]) => `(name = ${text(name)}, durableObjectNamespace = ${text(of)})`),
	])},
	durableObjectNamespaces = ${list(classes.map((name) => `(className = ${text(name)}, uniqueKey = ${text(name)}, enableSql = true)`))},
	durableObjectStorage = (localDisk = "disk"),
);
`;
}
