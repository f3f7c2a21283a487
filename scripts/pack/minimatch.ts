import { doNow, uncounted } from '../../src/core/base/work.ts';
import { compileGlob } from '../../src/core/toolboxes/glob.ts';

/** Whether a name fits a glob, in linear time. Replaces the package `minimatch` in the shell. */
export function minimatch(name: string, glob: string): boolean {
	return doNow(compileGlob(glob)(name, uncounted));
}
