import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { root } from '../wrangler.ts';

export interface WatchOptions {
	/** Wrangler's configuration. */
	readonly config: string;
	/** Something of the Worker was saved; Wrangler itself sees it, too, where it runs. */
	readonly onSource: () => void;
	/** TypeScript was saved, and nothing more for a moment. */
	readonly onTypeScript: () => void;
	/** A file of variables was saved, by its name. */
	readonly onVariables: (file: string) => void;
	readonly onSkills: () => void;
	/** A file of the page was saved, or one of the client that it uses. */
	readonly onPage: () => void;
}

/** Editors write a file in several steps. */
const settleMs = 150;
/** Who saves one file often saves the next. */
const typesSettleMs = 1_000;

/** Watches what Wrangler does not, and what it does not while it is down. */
export function watchFiles({ config, onSource, onTypeScript, onVariables, onSkills, onPage }: WatchOptions): void {
	const source = settle(onSource);
	const variables = settle(onVariables);
	const skills = settle(onSkills);
	const page = settle(onPage);
	const types = settle(onTypeScript, typesSettleMs);
	follow(join(root, 'src'), true, (file) => {
		source(file);
		// The system does not always say which one it was.
		if (file === '' || /\.[cm]?ts$/.test(file)) types(file);
		if (file === '' || /^(page|client)\b/.test(file)) page(file);
	});
	follow(join(root, 'skills'), true, skills);
	follow(root, false, (file) => {
		if (/^\.(dev\.vars|env)(\.[\w.-]+)?$/.test(file)) variables(file);
		if (file === 'package.json' || file === 'tsconfig.json') source(file);
		if (file === 'tsconfig.json') types(file);
		// It was made, or moved away.
		if (file === 'skills') {
			follow(join(root, 'skills'), true, skills);
			skills(file);
		}
	});
	follow(dirname(config), false, (file) => {
		if (file === basename(config)) source(file);
	});
}

const followed = new Map<string, FSWatcher>();

/** Where a folder is not there, or the system cannot watch it, nothing is told. */
function follow(folder: string, recursive: boolean, onChange: (file: string) => void): void {
	const key = `${folder} ${recursive}`;
	followed.get(key)?.close();
	try {
		const watcher = watch(folder, { recursive, persistent: false }, (_, file) => onChange(file ?? ''));
		watcher.on('error', () => {});
		if (folder !== root) followed.set(key, watcher);
	} catch {
		followed.delete(key);
	}
}

function settle(call: (file: string) => void, ms = settleMs): (file: string) => void {
	let timer: NodeJS.Timeout | undefined;
	return (file) => {
		clearTimeout(timer);
		timer = setTimeout(() => call(file), ms);
	};
}
