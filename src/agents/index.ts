/** The agents that this Worker serves. To add an agent, add its file and a line here. */

import { assistant } from './assistant.ts';
import { coder } from './coder.ts';
import { digest } from './digest.ts';
import { editor } from './editor.ts';
import { researcher } from './researcher.ts';
import { support } from './support.ts';
import { triage } from './triage.ts';
import { writer } from './writer.ts';

export const agents = [assistant, support, triage, coder, researcher, editor, writer, digest];
