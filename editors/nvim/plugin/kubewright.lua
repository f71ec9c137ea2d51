-- Shows what the commands of code lenses answer, and before Neovim 0.11 starts the server for YAML files.
-- Put the folder editors/nvim on the runtime path.

-- Shows a text in a window below.
local function show(text)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(text, '\n'))
  vim.cmd('belowright sbuffer ' .. buffer)
end

-- What is shown of the answer of each command.
local shown = {
  ['kubewright.test'] = function(answer)
    vim.notify(answer.rule .. ': ' .. answer.title)
  end,
  ['kubewright.judge'] = function(answer)
    local lines = { answer.rule .. ': ' .. #answer.outcomes .. ' outcomes' }
    for _, one in ipairs(answer.outcomes) do
      table.insert(lines, '  ' .. one.status .. '  ' .. one.object .. ' (' .. one.file .. ')  ' .. one.message)
    end
    show(table.concat(lines, '\n'))
  end,
  ['kubewright.trace'] = function(answer)
    show(answer.text)
  end,
}

for name, display in pairs(shown) do
  vim.lsp.commands[name] = function(command, context)
    local params = { command = command.command, arguments = command.arguments }
    local client = vim.lsp.get_client_by_id(context.client_id)
    -- Since 0.11 the client is an object, whose methods take it as their first argument.
    local request = vim.fn.has('nvim-0.11') == 1 and function(...) return client:request(...) end or client.request
    request('workspace/executeCommand', params, function(_, answer)
      if answer then
        display(answer)
      end
    end, context.bufnr)
  end
end

if vim.fn.has('nvim-0.11') == 1 then
  return
end

-- Returns the folder of the project that a file belongs to.
local function root_of(file)
  local folder = vim.fn.fnamemodify(file, ':p:h')
  local found = vim.fn.findfile('kubewright.yaml', folder .. ';')
  if found == '' then
    found = vim.fn.finddir('.git', folder .. ';')
  end
  return found == '' and folder or vim.fn.fnamemodify(found, ':p:h'):gsub('/%.git$', '')
end

local clients = {}

-- Starts a server for the project of a buffer, or uses the one that runs.
local function attach(buffer, file)
  local root = root_of(file)
  if not clients[root] then
    clients[root] = vim.lsp.start_client({
      name = 'kubewright',
      cmd = { vim.g.kubewright_path or 'kubewright', 'lsp' },
      root_dir = root,
      on_exit = function()
        clients[root] = nil
      end,
    })
  end
  if clients[root] then
    vim.lsp.buf_attach_client(buffer, clients[root])
  end
end

vim.api.nvim_create_autocmd('FileType', {
  pattern = 'yaml',
  callback = function(event)
    attach(event.buf, event.match == 'yaml' and vim.api.nvim_buf_get_name(event.buf) or event.file)
  end,
})
