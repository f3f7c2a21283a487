/** Two agents with the same tool, which reads everything and sends: one with the rule for such calls, and one without. */
import { defineAgent } from '../../../src/cloudflare/agent/define.ts';
import { createRunlet } from '../../../src/cloudflare/runlet/index.ts';
import { look, model } from './tool.ts';

const send = { ...look, reads: ['outside', 'private'], writes: 'outside', targets: () => ['team'] } as const;
const about = { description: 'Does what the plan says.', model, tools: [send] };
const ruled = defineAgent({ ...about, name: 'ruled', flow: { targets: ['team'] } });
const free = defineAgent({ ...about, name: 'free', flow: 'allow' });
const runlet = createRunlet({ agents: [ruled, free], skills: { listFn: () => [], readFn: () => undefined } });

export const { Session, Ledger, Directory } = runlet;
export default runlet;
